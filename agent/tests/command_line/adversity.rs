//! The service and the commands where the system around them fails.

use std::fs;
use std::process::Command;

use serde_json::json;

use crate::guest::{Guest, device, wait_for};
use crate::namespace::{in_namespace, ip, veth};
use crate::service::{Service, is_ready};

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
        let directory = guest.path("run/dra-guest");
        fs::create_dir(&directory).unwrap();
        let mount = |options: &str| {
            let mut command = Command::new("mount");
            command.args(["-t", "tmpfs", "-o", options, "none"]);
            assert!(command.arg(&directory).status().unwrap().success());
        };
        // Room for the status, the journal, the list of files, the device's files, and one at a time
        // beside them.
        mount("nr_inodes=8");
        assert_eq!(guest.agent("apply").code, 0);
        mount("remount,nr_inodes=7");
        guest.document(&json!([device(1, "net2", &["192.0.2.5/24"])]));
        let said = guest.agent("apply");
        assert_eq!(said.code, 1, "{}", said.stderr);
        assert!(
            said.stdout.starts_with("1 of 1 devices ready"),
            "{}",
            said.stdout
        );
        assert!(said.stderr.contains("cannot write "), "{}", said.stderr);
        assert!(said.stderr.contains("No space left"), "{}", said.stderr);
        // No probe sees what held before.
        assert_eq!(guest.agent("check").code, 4);

        mount("remount,nr_inodes=6");
        ip("addr flush dev net2");
        let service = Service::start(&guest);
        wait_for("the address", || {
            ip("-o addr show net2").contains("192.0.2.5/24")
        });
        assert_eq!(guest.status(), None);
        mount("remount,nr_inodes=99");
        wait_for("the status to be written after all", || is_ready(&guest));
        assert_eq!(service.end(), 0);
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
        let guest = Guest::new();
        guest.document(&json!([device(1, "eth0", &["192.0.2.5/24"])]));
        // A sysctl that is not there.
        guest.policy("[[device]]\nrp-filter = \"loose\"\n");
        let mut command = Command::new(env!("CARGO_BIN_EXE_dra-guest-agent"));
        command
            .args(["--log-level", "debug", "--proc-root"])
            .arg(guest.path("proc"))
            .stderr(fs::File::create(guest.path("log")).unwrap());
        let service = Service::start_by(&guest, command);
        let log = || fs::read_to_string(guest.path("log")).unwrap();
        wait_for("the second try", || {
            log().contains("DEBUG set rp_filter of eth0")
        });
        assert_eq!(
            log().matches("INFO set rp_filter of eth0").count(),
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

/// An image that is copied after the agent ran carries nothing of the machine that it ran on.
// GoogleCloudPlatform/guest-agent#401 (case 39).
#[test]
fn nothing_is_written_but_below_run() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        guest.document(&json!([device(1, "net1", &["192.0.2.5/24"])]));
        guest.policy("[[device]]\nmtu = 1400\nsource-routing = true\n");
        let listed = || {
            let mut command = Command::new("find");
            command.args([
                ".",
                "-path",
                "./run",
                "-prune",
                "-o",
                "-printf",
                "%p %s %T@ %C@\n",
            ]);
            let output = command.current_dir(guest.path("")).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        let before = listed();
        assert!(before.contains("./etc/dra-guest/agent.toml"), "{before}");
        for command in ["plan", "apply", "apply", "revert"] {
            let said = guest.agent(command);
            assert_eq!(said.code, 0, "{command}: {}", said.stderr);
        }
        assert_eq!(listed(), before);
    });
}
