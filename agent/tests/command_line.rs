//! The program as its users run it, against the kernel's netlink in namespaces.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod namespace;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;

use namespace::{in_namespace, ip, veth};

struct Guest {
    directory: TempDir,
}

impl Guest {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        fs::create_dir_all(directory.path().join("run/kubevirt")).unwrap();
        fs::create_dir_all(directory.path().join("etc/dra-guest")).unwrap();
        Self { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Puts the document into the VM mount whole, as the hook does.
    fn document(&self, devices: &Value) {
        let text = json!({
            "apiVersion": "dra-guest/v1", "kind": "DeviceAttributes", "devices": devices
        });
        let temporary = self.path("run/kubevirt/.new");
        fs::write(&temporary, text.to_string()).unwrap();
        fs::rename(temporary, self.path("run/kubevirt/device-attributes.json")).unwrap();
    }

    fn policy(&self, text: &str) {
        fs::write(self.path("etc/dra-guest/agent.toml"), text).unwrap();
    }

    fn with_roots(&self, mut command: Command) -> Command {
        command
            .arg("--run-root")
            .arg(self.path("run"))
            .arg("--etc-root")
            .arg(self.path("etc"));
        command
    }

    fn agent(&self, arguments: &str) -> Said {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dra-guest-agent"));
        command.args(arguments.split(' '));
        self.with_roots(command).output().unwrap().into()
    }

    fn status(&self) -> Option<Value> {
        let bytes = fs::read(self.path("run/dra-guest/status.json")).ok()?;
        Some(serde_json::from_slice(&bytes).unwrap())
    }
}

struct Said {
    code: i32,
    stdout: String,
    stderr: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().expect("ended by a signal"),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

fn mac(number: u8) -> String {
    format!("02:00:00:00:{number:02x}:01")
}

fn device(number: u8, name: &str, addresses: &[&str]) -> Value {
    json!({
        "claim": {"namespace": "default", "name": format!("nic-{number}")},
        "request": "vf", "driver": "sriov.example.com", "pool": "p", "device": format!("d{number}"),
        "network": {"interfaceName": name, "macAddress": mac(number), "ipAddresses": addresses}
    })
}

/// Waits for something that is bound to come, or says what did not.
fn wait_for(what: &str, mut come: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !come() {
        assert!(Instant::now() < end, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn apply_names_configures_and_reports_what_it_observed() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        guest.document(&json!([device(
            1,
            "net1",
            &["192.0.2.5/24", "2001:db8::5/64"]
        )]));
        guest.policy("[[device]]\nclaim = \"nic-*\"\nmtu = 1400\n");
        let said = guest.agent("apply");
        assert_eq!(said.code, 0, "{}", said.stderr);
        assert!(
            said.stdout.starts_with("1 of 1 devices ready\n"),
            "{}",
            said.stdout
        );

        let link = ip("-o link show net1");
        assert!(link.contains("mtu 1400") && link.contains(",UP"), "{link}");
        let addresses = ip("-o addr show net1");
        assert!(
            addresses.contains("192.0.2.5/24") && addresses.contains("2001:db8::5/64"),
            "{addresses}"
        );
        let status = guest.status().unwrap();
        let seen = &status["devices"][0];
        assert_eq!(status["ready"], true);
        assert_eq!(seen["reason"], "Configured");
        assert_eq!(seen["interfaceName"], "net1");
        assert_eq!(seen["macAddress"], mac(1));
        assert!(
            seen["addresses"]
                .as_array()
                .unwrap()
                .contains(&json!("192.0.2.5/24")),
            "{seen}"
        );
        assert_eq!(guest.agent("check").code, 0);
        let said = guest.agent("status");
        assert!(
            said.stdout.contains("nic-1/vf (d1): Configured, net1"),
            "{}",
            said.stdout
        );
    });
}

#[test]
fn plan_changes_nothing_and_names_what_apply_will_do() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        guest.document(&json!([device(1, "net1", &["192.0.2.5/24"])]));
        let before = ip("addr show");
        let said = guest.agent("plan");
        assert_eq!(said.code, 0, "{}", said.stderr);
        assert_eq!(
            said.stdout,
            "1. rename eth0 to net1: its name is to be net1 [nic-1/vf (d1)]\n\
             2. set net1 up: it is down [nic-1/vf (d1)]\n\
             3. add 192.0.2.5/24 to net1: it does not have this address [nic-1/vf (d1)]\n"
        );
        let json: Value = serde_json::from_str(&guest.agent("plan --json").stdout).unwrap();
        assert_eq!(json["transactions"].as_array().unwrap().len(), 2);
        assert_eq!(ip("addr show"), before);
        assert_eq!(guest.status(), None);
    });
}

#[test]
fn names_change_places() {
    in_namespace(|| {
        veth("net1", 1);
        veth("net2", 2);
        let guest = Guest::new();
        guest.document(&json!([device(1, "net2", &[]), device(2, "net1", &[])]));
        let said = guest.agent("apply");
        assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
        assert!(ip("link show net2").contains(&mac(1)));
        assert!(ip("link show net1").contains(&mac(2)));
    });
}

#[test]
fn a_missing_device_does_not_stop_the_others() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        guest.document(&json!([
            device(9, "net9", &[]),
            device(1, "net1", &["192.0.2.5/24"])
        ]));
        let said = guest.agent("apply");
        assert_eq!(said.code, 3, "{}", said.stderr);
        assert!(
            said.stdout.contains(
                "DeviceNotFound: no network interface has the MAC address 02:00:00:00:09:01"
            ),
            "{}",
            said.stdout
        );
        assert!(ip("-o addr show net1").contains("192.0.2.5/24"));
        let said = guest.agent("check");
        assert_eq!(said.code, 3);
        assert!(
            said.stderr.contains("nic-9/vf (d9): DeviceNotFound"),
            "{}",
            said.stderr
        );
        assert_eq!(guest.agent("plan").code, 3);
    });
}

#[test]
fn a_broken_entry_does_not_stop_the_others() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        let mut broken = device(2, "net2", &[]);
        broken["network"]["macAddress"] = json!("02:00");
        guest.document(&json!([broken, device(1, "net1", &[])]));
        let said = guest.agent("apply");
        assert_eq!(said.code, 3, "{}", said.stderr);
        let status = guest.status().unwrap();
        let devices = status["devices"].as_array().unwrap();
        let invalid = devices
            .iter()
            .find(|device| device["reason"] == "InvalidAttributes")
            .unwrap();
        assert_eq!(invalid["identity"]["claim"]["name"], "nic-2");
        assert!(
            invalid["message"]
                .as_str()
                .unwrap()
                .contains("devices[0].network.macAddress"),
            "{invalid}"
        );
        assert!(ip("link show net1").contains(&mac(1)));
    });
}

#[test]
fn what_the_kernel_refuses_is_in_the_report_in_its_words() {
    in_namespace(|| {
        veth("eth0", 1);
        veth("eth1", 2);
        fs::write("/proc/sys/net/ipv6/conf/eth0/disable_ipv6", "1").unwrap();
        let guest = Guest::new();
        guest.document(&json!([
            device(1, "net1", &["2001:db8::5/64"]),
            device(2, "net2", &["2001:db8::6/64"])
        ]));
        let said = guest.agent("apply");
        assert_eq!(said.code, 3, "{}", said.stdout);
        assert!(
            said.stdout.contains("ConfigurationFailed") && said.stdout.contains("IPv6 is disabled"),
            "{}",
            said.stdout
        );
        assert!(ip("-o addr show net2").contains("2001:db8::6/64"));
    });
}

#[test]
fn a_second_apply_asks_the_kernel_for_no_change() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        guest.document(&json!([device(
            1,
            "net1",
            &["192.0.2.5/24", "2001:db8::5/64"]
        )]));
        assert_eq!(guest.agent("apply").code, 0);
        let before = ip("addr show");

        let trace = guest.path("trace");
        let mut command = Command::new("strace");
        command
            .args(["-f", "-o", trace.to_str().unwrap()])
            .args([env!("CARGO_BIN_EXE_dra-guest-agent"), "apply"]);
        let output = guest
            .with_roots(command)
            .output()
            .expect("run strace, of the package strace");
        assert!(output.status.success());
        let trace = fs::read_to_string(trace).unwrap();
        for change in [
            "RTM_SETLINK",
            "RTM_NEWLINK, nlmsg_flags=NLM_F_REQUEST",
            "NLM_F_ACK",
        ] {
            assert!(!trace.contains(change), "{change} in a no-op apply");
        }
        assert!(trace.contains("AF_NETLINK"), "strace saw nothing");
        assert_eq!(ip("addr show"), before);
    });
}

/// The service, ended when the test does.
struct Service(Child);

impl Service {
    fn start(guest: &Guest) -> Self {
        Self::start_by(guest, Command::new(env!("CARGO_BIN_EXE_dra-guest-agent")))
    }

    fn start_by(guest: &Guest, mut command: Command) -> Self {
        command.arg("run");
        Self(guest.with_roots(command).spawn().unwrap())
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.0.id()).unwrap()), signal).unwrap();
    }

    fn end(mut self) -> i32 {
        self.signal(Signal::SIGTERM);
        self.0.wait().unwrap().code().expect("ended by a signal")
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // Ended already, or ends here.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn is_ready(guest: &Guest) -> bool {
    guest.status().is_some_and(|status| status["ready"] == true)
}

fn names_interface(path: &Path, name: &str) -> bool {
    fs::read_to_string(path)
        .is_ok_and(|text| text.contains(&format!("\"interfaceName\": \"{name}\"")))
}

#[test]
fn the_service_waits_for_the_file_and_follows_its_changes() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        let service = Service::start(&guest);
        wait_for("a status without attributes", || {
            guest.status().is_some_and(|status| {
                status["problem"]
                    .as_str()
                    .unwrap()
                    .contains("no device attributes yet")
            })
        });
        assert_eq!(guest.agent("check").code, 4);

        guest.document(&json!([device(1, "net1", &["192.0.2.5/24"])]));
        wait_for("the device to be ready", || is_ready(&guest));
        assert!(ip("-o addr show net1").contains("192.0.2.5/24"));

        guest.document(&json!([device(1, "net7", &["192.0.2.5/24"])]));
        let status = guest.path("run/dra-guest/status.json");
        wait_for("the new name", || names_interface(&status, "net7"));
        assert!(ip("link show net7").contains(&mac(1)));

        // A writer that is cut off does not take back what stands.
        fs::write(
            guest.path("run/kubevirt/device-attributes.json"),
            "{\"apiVersion\": \"dra",
        )
        .unwrap();
        std::thread::sleep(Duration::from_secs(3));
        assert!(is_ready(&guest));
        // A broken file is told, and does not take it back either.
        fs::write(guest.path("run/kubevirt/device-attributes.json"), "[]").unwrap();
        wait_for("the problem to be told", || {
            guest
                .status()
                .is_some_and(|status| status["problem"].is_string())
        });
        let told = guest.status().unwrap();
        assert_eq!(told["ready"], true);
        assert!(
            told["problem"]
                .as_str()
                .unwrap()
                .contains("device-attributes.json"),
            "{told}"
        );
        assert_eq!(service.end(), 0);
    });
}

#[test]
fn the_service_configures_a_device_that_comes_late() {
    in_namespace(|| {
        let guest = Guest::new();
        guest.document(&json!([device(1, "net1", &["192.0.2.5/24"])]));
        let service = Service::start(&guest);
        wait_for("the first pass", || guest.status().is_some());
        assert!(!is_ready(&guest));
        veth("eth0", 1);
        wait_for("the late device", || is_ready(&guest));
        assert!(ip("-o addr show net1").contains("192.0.2.5/24"));
        assert_eq!(service.end(), 0);
    });
}

#[test]
fn apply_waits_as_long_as_it_is_told() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        let mut command = Command::new(env!("CARGO_BIN_EXE_dra-guest-agent"));
        command.args(["apply", "--wait", "30"]);
        let mut waiting = guest.with_roots(command).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(500));
        assert!(waiting.try_wait().unwrap().is_none(), "it did not wait");
        guest.document(&json!([device(1, "net1", &[])]));
        assert_eq!(waiting.wait().unwrap().code(), Some(0));
        assert!(ip("link show net1").contains(&mac(1)));
    });
}

#[test]
fn an_inspected_state_is_a_planners_case() {
    in_namespace(|| {
        veth("eth0", 1);
        ip("addr add 192.0.2.9/24 dev eth0");
        let guest = Guest::new();
        let said = guest.agent("inspect --json");
        assert_eq!(said.code, 0, "{}", said.stderr);
        let observation: dra_guest_agent::observe::Observation =
            serde_json::from_str(&said.stdout).unwrap();
        let eth0 = observation
            .interfaces
            .iter()
            .find(|interface| interface.name == "eth0")
            .unwrap();
        assert_eq!(eth0.mac_address.unwrap().to_string(), mac(1));
        assert_eq!(eth0.kind.as_deref(), Some("veth"));
        let said = guest.agent("inspect");
        assert!(
            said.stdout
                .contains("eth0: down, MTU 1500, veth, MAC 02:00:00:00:01:01, 192.0.2.9/24"),
            "{}",
            said.stdout
        );
    });
}

/// strace makes the kernel refuse the first requests by netlink.
#[test]
fn the_service_outlives_a_kernel_that_does_not_answer() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        guest.document(&json!([device(1, "net1", &["192.0.2.5/24"])]));
        let trace = guest.path("trace");
        let mut command = Command::new("strace");
        command
            .args(["-f", "-D", "-e", "trace=sendto", "-o"])
            .arg(&trace)
            .args(["-e", "inject=sendto:error=ENOBUFS:when=1..3"])
            .arg(env!("CARGO_BIN_EXE_dra-guest-agent"));
        let service = Service::start_by(&guest, command);
        wait_for("the failure to be told", || {
            let trace = fs::read_to_string(&trace).unwrap_or_default();
            trace.contains("INJECTED") && guest.status().is_some()
        });
        wait_for("the device to be ready", || is_ready(&guest));
        assert_eq!(guest.status().unwrap().get("problem"), None);
        assert_eq!(service.end(), 0);
    });
}

#[test]
fn a_status_that_cannot_be_written_keeps_no_device_from_being_configured() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        guest.document(&json!([device(1, "net1", &["192.0.2.5/24"])]));
        // Full from the start: not a byte fits.
        let directory = guest.path("run/dra-guest");
        fs::create_dir(&directory).unwrap();
        let mount = format!("mount -t tmpfs -o nr_inodes=1 none {}", directory.display());
        let run = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            assert!(
                Command::new(words[0])
                    .args(&words[1..])
                    .status()
                    .unwrap()
                    .success()
            );
        };
        run(&mount);
        let said = guest.agent("apply");
        assert_eq!(said.code, 1, "{}", said.stderr);
        assert!(
            said.stdout.starts_with("1 of 1 devices ready"),
            "{}",
            said.stdout
        );
        assert!(said.stderr.contains("cannot write "), "{}", said.stderr);
        assert!(said.stderr.contains("No space left"), "{}", said.stderr);

        ip("addr flush dev net1");
        let service = Service::start(&guest);
        wait_for("the address", || {
            ip("-o addr show net1").contains("192.0.2.5/24")
        });
        assert_eq!(guest.status(), None);
        run(&format!(
            "mount -o remount,nr_inodes=99 {}",
            directory.display()
        ));
        wait_for("the status to be written after all", || is_ready(&guest));
        assert_eq!(service.end(), 0);
    });
}

#[test]
fn the_status_can_be_read_whatever_the_umask_is() {
    let guest = Guest::new();
    let mut command = Command::new("sh");
    command.args(["-c", "umask 077; exec \"$0\" apply \"$@\""]);
    command.arg(env!("CARGO_BIN_EXE_dra-guest-agent"));
    assert_eq!(guest.with_roots(command).status().unwrap().code(), Some(4));
    for (name, mode) in [
        ("run/dra-guest", 0o755),
        ("run/dra-guest/status.json", 0o644),
    ] {
        let permissions = fs::metadata(guest.path(name)).unwrap().permissions();
        assert_eq!(permissions.mode() & 0o777, mode, "{name}");
    }
}

#[test]
fn an_address_that_another_host_has_is_not_ready() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        guest.document(&json!([device(1, "net1", &["2001:db8::5/64"])]));
        let service = Service::start(&guest);
        // Without a carrier nobody can be asked.
        wait_for("the device to be ready", || is_ready(&guest));
        ip("addr add 2001:db8::5/64 dev eth0-peer nodad");
        ip("link set eth0-peer up");
        wait_for("the other host to be noticed", || !is_ready(&guest));
        let told = guest.status().unwrap();
        let seen = &told["devices"][0];
        assert_eq!(seen["reason"], "ConfigurationFailed", "{told}");
        assert!(
            seen["message"]
                .as_str()
                .unwrap()
                .starts_with("another host of the link has the address 2001:db8::5/64"),
            "{told}"
        );
        assert!(
            !seen["addresses"].to_string().contains("2001:db8::5"),
            "{told}"
        );
        assert_eq!(service.end(), 0);
        assert_eq!(guest.agent("apply").code, 3);
    });
}
