//! What systemd is told, and when.

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::process::Command;

use serde_json::json;

use crate::guest::{Guest, device, mac};
use crate::namespace::{in_namespace, ip, veth};
use crate::service::Service;

// GoogleCloudPlatform/guest-agent#179 (case 48).
#[test]
fn systemd_is_told_when_the_first_pass_is_over() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        guest.document(&json!([device(1, "net1", &[]), device(9, "net9", &[])]));
        let (service, systemd) = notifying(&guest);
        assert_eq!(told(&systemd), "READY=1\nSTATUS=1 of 2 devices ready");
        assert!(ip("link show net1").contains(&mac(1)));
        assert!(guest.status().is_some());
        assert_eq!(service.end(), 0);
        assert_eq!(told(&systemd), "STOPPING=1");
    });
}

/// A driver may take a second to set an interface up.
#[test]
fn what_is_not_required_is_named_before_systemd_goes_on_and_set_up_after() {
    in_namespace(|| {
        veth("eth0", 1);
        veth("eth1", 2);
        let guest = Guest::new();
        guest.policy("[[device]]\nclaim = \"nic-2\"\nrequired = false\n");
        guest.document(&json!([
            device(1, "net1", &["192.0.2.5/24"]),
            device(2, "net2", &["192.0.2.6/24"]),
        ]));
        let (service, systemd) = notifying(&guest);
        assert_eq!(told(&systemd), "READY=1\nSTATUS=1 of 2 devices ready");
        assert!(ip("-o addr show up dev net1").contains("192.0.2.5/24"));
        assert!(ip("link show net2").contains(&mac(2)));
        assert_eq!(told(&systemd), "READY=1\nSTATUS=2 of 2 devices ready");
        assert!(ip("-o addr show up dev net2").contains("192.0.2.6/24"));
        assert_eq!(service.end(), 0);
        let said = fs::read_to_string(guest.path("said")).unwrap();
        let place = |words: &str| {
            said.find(words)
                .unwrap_or_else(|| panic!("{words}: {said}"))
        };
        for (earlier, later) in [
            ("rename eth1 to net2", "nic-2/vf (d2): Pending, net2"),
            ("nic-2/vf (d2): Pending, net2", "set net2 up"),
            ("set net1 up", "set net2 up"),
        ] {
            assert!(place(earlier) < place(later), "{earlier}, {later}: {said}");
        }
        // What is up waits for nobody: the next service is ready at once.
        let (service, systemd) = notifying(&guest);
        assert_eq!(told(&systemd), "READY=1\nSTATUS=2 of 2 devices ready");
        assert_eq!(service.end(), 0);
    });
}

/// The service with a socket in systemd's place, and its log in the file `said`.
pub(crate) fn notifying(guest: &Guest) -> (Service, UnixDatagram) {
    // Of an earlier service.
    let _ = fs::remove_file(guest.path("notify"));
    let systemd = UnixDatagram::bind(guest.path("notify")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_dra-guest-agent"));
    command.env("NOTIFY_SOCKET", guest.path("notify"));
    command.stderr(fs::File::create(guest.path("said")).unwrap());
    (Service::start_by(guest, command), systemd)
}

pub(crate) fn told(systemd: &UnixDatagram) -> String {
    let mut words = [0; 4096];
    let length = systemd.recv(&mut words).unwrap();
    String::from_utf8(words[..length].trim_ascii_end().to_vec()).unwrap()
}
