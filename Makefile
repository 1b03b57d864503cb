# dra-guest: what to build, test and show. `make` prints the targets.

host := $(shell uname -m)-unknown-linux-musl
targets := x86_64-unknown-linux-musl aarch64-unknown-linux-musl
# The node's and the guest's programs for both architectures; the relay for this machine.
static := dra-cdi-hook dra-guest-nri dra-guest-agent

.PHONY: help setup build image image-nri demo demo-cluster test lint advisories bench clean

help: ## Print the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install packages and build tools (quiet when all is there; packages need root)
	@tests/setup/setup.sh guest lint cluster runtimes bench

build: ## Build the static release programs, hook, plugin and agent for x86-64 and aarch64
	@$(foreach target,$(targets),$(foreach program,$(static),\
		cargo build --quiet --locked --release --target $(target) --package $(program) &&)) true
	@cargo build --quiet --locked --release --target $(host) --package dra-guest-relay

image ?= dra-guest-relay:0.1.0

image: ## Build the relay's container image with podman; its name is image=NAME
	@cargo build --quiet --locked --release --target $(host) --package dra-guest-relay
	@podman build --quiet --file deploy/Containerfile --tag $(image) $(or $(CARGO_TARGET_DIR),target)/$(host)/release

image-nri ?= dra-guest-nri:0.1.0

image-nri: ## Build the NRI plugin's container image with podman; its name is image-nri=NAME
	@cargo build --quiet --locked --release --target $(host) --package dra-guest-nri --package dra-cdi-hook
	@podman build --quiet --file deploy/nri/Containerfile --tag $(image-nri) $(or $(CARGO_TARGET_DIR),target)/$(host)/release

demo: ## Show the whole way: claim, container, hook, guest, NIC, claim status (root)
	@tests/setup/setup.sh guest
	@cargo run --quiet --locked --package dra-guest-tests --bin demo

demo-cluster: ## Show it on a node of Kubernetes: driver, pod, hook, guest, relay, claim (root, Go)
	@tests/setup/setup.sh guest
	@cargo run --quiet --locked --package dra-guest-tests --bin demo-cluster

test: lint build ## Run every test, with real runtimes, guests and Kubernetes (root, Go)
	@tests/setup/setup.sh guest cluster runtimes
	cargo test --locked --workspace --no-fail-fast

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
	@tests/setup/setup.sh guest bench cluster
	@cargo run --quiet --locked --package dra-guest-tests --bin bench

clean: ## Remove what cargo built; tools and images in the cache stay
	cargo clean
