//! `run`: the service.

use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use crate::guest::{Guest, device, mac, wait_for};
use crate::namespace::{in_namespace, ip, veth};
use crate::readiness::{notifying, told};

/// The service, ended when the test does.
pub(crate) struct Service(Child);

impl Service {
    pub(crate) fn start(guest: &Guest) -> Self {
        Self::start_by(guest, Command::new(env!("CARGO_BIN_EXE_dra-guest-agent")))
    }

    pub(crate) fn start_by(guest: &Guest, mut command: Command) -> Self {
        command.arg("run");
        Self(guest.with_roots(command).spawn().unwrap())
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.0.id()).unwrap()), signal).unwrap();
    }

    pub(crate) fn end(mut self) -> i32 {
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

pub(crate) fn is_ready(guest: &Guest) -> bool {
    guest.status().is_some_and(|status| status["ready"] == true)
}

fn names_interface(path: &Path, name: &str) -> bool {
    fs::read_to_string(path)
        .is_ok_and(|text| text.contains(&format!("\"interfaceName\": \"{name}\"")))
}

// KEP-5304 `kubeletplugin/metadata.go` (case 84); Linux mount(2) (case 85);
// kata-containers/runtime#1505, kata-containers#1879, vfkit#126 (case 87).
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

/// A config drive knows a device by its MAC and nothing of its addresses: to follow it while the share is away would
/// take them from the interface.
#[test]
fn a_source_that_vanishes_does_not_make_way_for_one_further_down() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        let drive = guest.path("run/dra-guest-config-drive");
        fs::create_dir_all(&drive).unwrap();
        let tagged = json!({"devices": [
            {"type": "nic", "bus": "pci", "address": "0000:01:00.0", "mac": mac(1), "tags": ["a"]}
        ]});
        fs::write(drive.join("meta_data.json"), tagged.to_string()).unwrap();
        let service = Service::start(&guest);
        let is_from = |file: &str| {
            let status = guest.status();
            let source = status.and_then(|status| status["source"].as_str().map(str::to_owned));
            source.is_some_and(|source| source.ends_with(file))
        };
        // One further up that comes late is followed.
        wait_for("the config drive", || is_from("meta_data.json"));
        guest.document(&json!([device(1, "net1", &["192.0.2.5/24"])]));
        wait_for("the document", || {
            is_from("attributes.json") && is_ready(&guest)
        });
        assert!(ip("-o addr show net1").contains("192.0.2.5/24"));

        let document = guest.path("run/kubevirt/device-attributes.json");
        fs::rename(&document, guest.path("away")).unwrap();
        // Longer than between two looks.
        std::thread::sleep(Duration::from_secs(3));
        assert!(is_from("attributes.json"), "{:?}", guest.status());
        assert!(ip("-o addr show net1").contains("192.0.2.5/24"));
        assert_eq!(service.end(), 0);

        // Neither does one that starts anew, however often, make way for it.
        let words = "attributes.json, which is not there now";
        for command in ["plan", "apply", "apply"] {
            let said = guest.agent(command);
            assert_eq!(said.code, 4, "{command}: {}{}", said.stdout, said.stderr);
            assert!(said.stderr.contains(words), "{}", said.stderr);
        }
        let is_told = || {
            let told = guest.status().unwrap();
            told["problem"]
                .as_str()
                .is_some_and(|it| it.contains(words))
        };
        for _ in 0..2 {
            let (service, systemd) = notifying(&guest);
            assert!(told(&systemd).starts_with("READY=1"));
            assert!(is_told(), "{:?}", guest.status());
            assert_eq!(service.end(), 0);
        }
        assert!(ip("-o addr show net1").contains("192.0.2.5/24"));
        let service = Service::start(&guest);
        // It is followed again when it is back.
        guest.document(&json!([device(1, "net2", &["192.0.2.6/24"])]));
        let status = guest.path("run/dra-guest/status.json");
        wait_for("the new name", || names_interface(&status, "net2"));
        assert_eq!(service.end(), 0);

        // With nothing that stands it is as good as any.
        fs::remove_file(&document).unwrap();
        assert_eq!(guest.agent("revert").code, 0);
        guest.agent("apply");
        assert!(is_from("meta_data.json"), "{:?}", guest.status());
    });
}

// kata-containers#9758, kata-containers#9895 (case 45).
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

// systemd#5882, systemd#11375, systemd#24389 (case 53).
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

#[test]
fn a_policy_is_read_again_on_sighup_and_a_broken_one_changes_nothing() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        guest.document(&json!([device(1, "net1", &["192.0.2.5/24"])]));
        let service = Service::start(&guest);
        wait_for("the device to be ready", || is_ready(&guest));

        guest.policy("[[device]]\nmtu = 1400\nrename = \"fast0\"\n");
        service.signal(Signal::SIGHUP);
        wait_for("the new name", || {
            names_interface(&guest.path("run/dra-guest/status.json"), "fast0")
        });
        assert!(ip("-o link show fast0").contains("mtu 1400"));

        guest.policy("[[device]]\nrename = \"slow0\"\nmut = 1300\n");
        service.signal(Signal::SIGHUP);
        wait_for("the mistake to be told", || {
            guest.status().unwrap()["problem"]
                .as_str()
                .is_some_and(|problem| problem.contains("agent.toml:3:1: unknown key `mut`"))
        });
        assert!(is_ready(&guest));
        assert!(ip("-o link show fast0").contains("mtu 1400"));

        guest.policy("[[device]]\nrename = \"slow0\"\n");
        service.signal(Signal::SIGHUP);
        wait_for("the mistake to be forgotten", || {
            names_interface(&guest.path("run/dra-guest/status.json"), "slow0")
        });
        assert_eq!(guest.status().unwrap().get("problem"), None);
        assert_eq!(service.end(), 0);
    });
}
