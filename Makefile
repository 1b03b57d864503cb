# dra-guest: what to build, test and show. `make` prints the targets.

host := $(shell uname -m)-unknown-linux-musl
targets := x86_64-unknown-linux-musl aarch64-unknown-linux-musl
# The node's and the guest's programs for both architectures; the relay for this machine. `make packages` has it for both.
static := dra-cdi-hook dra-guest-nri dra-guest-agent

.PHONY: help setup build packages reproduce image hook-image image-nri demo demo-cluster test test-aarch64 test-vm-images lint advisories bench \
	kubevirt-schema clean

help: ## Print the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install packages and build tools (quiet when all is there; packages need root)
	@tests/setup/setup.sh guest lint packages cluster runtimes bench

build: ## Build the static release programs, hook, plugin and agent for x86-64 and aarch64
	@$(foreach target,$(targets),$(foreach program,$(static),\
		cargo build --quiet --locked --release --target $(target) --package $(program) &&)) true
	@cargo build --quiet --locked --release --target $(host) --package dra-guest-relay

packages: ## Build .deb and .rpm of agent and node, x86-64 and aarch64, into target/packages
	@tests/setup/setup.sh packages
	@packaging/build.sh $(targets)

reproduce: packages ## Build the packages of this machine anew from elsewhere: the same bytes
	@packaging/reproduce.sh $(host)

image ?= dra-guest-relay:0.1.0

image: ## Build the relay's container image with podman; its name is image=NAME
	@cargo build --quiet --locked --release --target $(host) --package dra-guest-relay
	@podman build --quiet --file deploy/Containerfile --tag $(image) $(or $(CARGO_TARGET_DIR),target)/$(host)/release

hook-image: image = dra-guest-hook:0.1.0
hook-image: ## Build the image that installs the hook on nodes with podman; its name is image=NAME
	@cargo build --quiet --locked --release --target $(host) --package dra-cdi-hook
	@podman build --quiet --file deploy/hook/Containerfile --tag $(image) $(or $(CARGO_TARGET_DIR),target)/$(host)/release

image-nri ?= dra-guest-nri:0.1.0

image-nri: ## Build the NRI plugin's container image with podman; its name is image-nri=NAME
	@# One by one: what is built together is built with the features that any of it asks for.
	@cargo build --quiet --locked --release --target $(host) --package dra-guest-nri
	@cargo build --quiet --locked --release --target $(host) --package dra-cdi-hook
	@podman build --quiet --file deploy/nri/Containerfile --tag $(image-nri) $(or $(CARGO_TARGET_DIR),target)/$(host)/release

demo: ## Show the whole way: claim, container, hook, guest, NIC, claim status (root)
	@tests/setup/setup.sh guest
	@cargo run --quiet --locked --package dra-guest-tests --bin demo

demo-cluster: ## Show it on a node of Kubernetes: driver, pod, hook, guest, relay, claim (root, Go)
	@tests/setup/setup.sh guest
	@cargo run --quiet --locked --package dra-guest-tests --bin demo-cluster

test: ## Run every test, with real runtimes, guests and Kubernetes (root, Go)
	@tests/setup/setup.sh guest lint packages cluster runtimes
	@# Links of release programs take one core each: the tests are checked and built beside them.
	@$(MAKE) build & built=$$!; $(MAKE) lint && cargo test --quiet --locked --workspace --no-run; \
		checked=$$?; wait $$built && exit $$checked
	@cargo run --quiet --locked --package dra-guest-tests --bin suites
	@cargo test --quiet --locked --workspace --doc

test-aarch64: ## Run the aarch64 programs, look at their packages, and boot emulated aarch64 machines (slow; root)
	@tests/setup/setup.sh guest packages
	@tests/setup/packages.sh qemu-system-arm qemu-user-static kmod
	@cargo run --quiet --locked --package dra-guest-tests --bin aarch64

test-vm-images: ## Build images by the recipes of mkosi, dracut and initramfs-tools, and boot them (slow; root)
	@tests/setup/setup.sh guest packages
	@cargo run --quiet --locked --package dra-guest-tests --bin vm-images

lint: ## Check format, lints, documentation, licences and sources
	@tests/setup/setup.sh lint
	cargo fmt --check
	cargo clippy --quiet --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc --quiet --locked --workspace --no-deps --document-private-items
	"$$(tests/setup/tools.sh path cargo-deny)" --log-level warn check bans licenses sources

advisories: ## Check dependencies for known vulnerabilities (fetches RustSec's database)
	@tests/setup/setup.sh lint
	"$$(tests/setup/tools.sh path cargo-deny)" --log-level warn check advisories

bench: ## Measure against peers: nvidia-cdi-hook, an NRI plugin in Go, a script, netlink alone, networkd, … (root, Go)
	@tests/setup/setup.sh guest bench cluster runtimes
	@cargo run --quiet --locked --package dra-guest-tests --bin bench

kubevirt-schema: ## Write KubeVirt's types anew, of the version in tests/kubevirt/go.mod (Go)
	@cd tests/kubevirt && go run . >schema.json.new && mv schema.json.new schema.json

clean: ## Remove what cargo built; tools and images in the cache stay
	cargo clean
