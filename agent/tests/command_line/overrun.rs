//! The service where the kernel cannot tell it all: announcements that are lost, lists that do not settle.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;
use serde_json::json;

use crate::guest::{Guest, device, wait_for};
use crate::namespace::{in_namespace, ip, veth};
use crate::service::{Service, is_ready};

fn started(guest: &Guest) -> Service {
    guest.policy("[[device]]\nmtu = 1400\n");
    guest.document(&json!([device(1, "net1", &["192.0.2.5/24"])]));
    let service = Service::start(guest);
    wait_for("the device to be ready", || is_ready(guest));
    service
}

/// Runs many commands of `ip` in one go.
fn batch(commands: impl Iterator<Item = String>) {
    let mut ip = Command::new("ip")
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let text: String = commands.collect();
    ip.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(ip.wait().unwrap().success());
}

/// The service sleeps while more is announced than the kernel keeps for it, and what concerns it comes last.
// amazon-ec2-net-utils#86 (case 46); systemd#14417, systemd#5398, talos#8157 (case 79).
#[test]
fn what_was_announced_while_nobody_could_hear_is_put_right() {
    in_namespace(|| {
        veth("eth0", 1);
        veth("other", 2);
        let guest = Guest::new();
        let service = started(&guest);
        let shown = || ip("address show dev net1");
        for _ in 0..2 {
            service.signal(Signal::SIGSTOP);
            batch((0..4000).map(|number| {
                let (high, low) = (number / 250, number % 250 + 1);
                format!("address add 198.18.{high}.{low}/32 dev other\n")
            }));
            ip("link set net1 mtu 1300");
            ip("address del 192.0.2.5/24 dev net1");
            assert!(!shown().contains("mtu 1400"));
            service.signal(Signal::SIGCONT);
            wait_for("the MTU and the address", || {
                let shown = shown();
                shown.contains("mtu 1400") && shown.contains("192.0.2.5/24")
            });
            wait_for("the device to be ready", || is_ready(&guest));
            ip("address flush dev other");
        }
        assert_eq!(service.end(), 0);
    });
}

/// As in a storm of interfaces that others make: no list is whole, for longer than a look is tried. strace refuses the
/// requests instead.
#[test]
fn a_look_that_cannot_be_made_takes_no_readiness_back() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        let service = started(&guest);
        let mut strace = Command::new("strace")
            .args(["-f", "-e", "trace=sendto", "-o"])
            .arg(guest.path("trace"))
            .args(["-e", "inject=sendto:error=ENOBUFS", "-p"])
            .arg(service.id().to_string())
            .stderr(fs::File::create(guest.path("attached")).unwrap())
            .spawn()
            .unwrap();
        wait_for("strace to attach", || {
            fs::read_to_string(guest.path("attached")).is_ok_and(|it| it.contains("attached"))
        });
        veth("foreign", 3);
        let problem = || {
            guest.status().unwrap()["problem"]
                .as_str()
                .map(str::to_owned)
        };
        wait_for("the hindrance to be told", || problem().is_some());
        assert!(is_ready(&guest), "{:?}", guest.status());
        assert_eq!(guest.agent("check").code, 0);
        strace.kill().unwrap();
        strace.wait().unwrap();
        wait_for("a look", || problem().is_none());
        assert!(is_ready(&guest));
        assert_eq!(service.end(), 0);
    });
}
