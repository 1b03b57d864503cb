//! `run`: the service.

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use crate::guest::{Guest, device, mac, wait_for};
use crate::namespace::{in_namespace, ip, veth};

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
            .args(["-e", "inject=sendto:error=ENOBUFS:when=1..2"])
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
fn systemd_is_told_when_the_first_pass_is_over() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        guest.document(&json!([device(1, "net1", &[]), device(9, "net9", &[])]));
        let systemd = UnixDatagram::bind(guest.path("notify")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_dra-guest-agent"));
        command.env("NOTIFY_SOCKET", guest.path("notify"));
        let service = Service::start_by(&guest, command);
        let mut words = [0; 4096];
        let mut told = || {
            let length = systemd.recv(&mut words).unwrap();
            String::from_utf8(words[..length].trim_ascii_end().to_vec()).unwrap()
        };
        assert_eq!(told(), "READY=1\nSTATUS=1 of 2 devices ready");
        assert!(ip("link show net1").contains(&mac(1)));
        assert!(guest.status().is_some());
        assert_eq!(service.end(), 0);
        assert_eq!(told(), "STOPPING=1");
    });
}

/// strace makes each request by netlink take its time.
#[test]
fn a_pass_is_not_cut_by_the_end_of_the_service() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        guest.document(&json!([device(1, "net1", &["192.0.2.5/24"])]));
        let trace = guest.path("trace");
        let mut command = Command::new("strace");
        command
            .args(["-f", "-D", "-e", "trace=sendto", "-o"])
            .arg(&trace)
            .args(["-e", "inject=sendto:delay_enter=300ms"])
            .arg(env!("CARGO_BIN_EXE_dra-guest-agent"));
        let service = Service::start_by(&guest, command);
        wait_for("the pass to begin", || {
            fs::read_to_string(&trace).is_ok_and(|trace| trace.contains("NETLINK"))
        });
        assert_eq!(guest.status(), None);
        assert_eq!(service.end(), 0);
        assert!(ip("-o addr show net1").contains("192.0.2.5/24"));
        assert_eq!(guest.status().unwrap()["ready"], true);
    });
}

#[test]
fn what_fails_again_and_again_is_told_once() {
    in_namespace(|| {
        veth("eth0", 1);
        fs::write("/proc/sys/net/ipv6/conf/eth0/disable_ipv6", "1").unwrap();
        let guest = Guest::new();
        guest.document(&json!([device(1, "eth0", &["2001:db8::5/64"])]));
        let mut command = Command::new(env!("CARGO_BIN_EXE_dra-guest-agent"));
        command
            .args(["--log-level", "debug"])
            .stderr(fs::File::create(guest.path("log")).unwrap());
        let service = Service::start_by(&guest, command);
        let log = || fs::read_to_string(guest.path("log")).unwrap();
        wait_for("the second try", || {
            log().contains("DEBUG add 2001:db8::5/64")
        });
        assert_eq!(
            log().matches("INFO add 2001:db8::5/64").count(),
            1,
            "{}",
            log()
        );
        assert_eq!(
            log()
                .matches("WARN   nic-1/vf (d1): ConfigurationFailed")
                .count(),
            1,
            "{}",
            log()
        );
        assert_eq!(service.end(), 0);
    });
}
