//! Who is going to have a NIC, told by configuration alone: the agent is there before the managers.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::json;

use crate::guest::{Guest, device};
use crate::namespace::{in_namespace, veth};

const UNIT: &str = "multi-user.target.wants/systemd-networkd.service";
const ENABLED: &str = "etc/systemd/system/multi-user.target.wants/systemd-networkd.service";

fn put(guest: &Guest, path: &str, text: &str) {
    let path = guest.path(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// What an `apply` says of its first device.
fn message(guest: &Guest) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dra-guest-agent"));
    command
        .arg("apply")
        .arg("--usr-root")
        .arg(guest.path("usr"));
    guest.with_roots(command).output().unwrap();
    let status = guest.status().unwrap();
    status["devices"][0]["message"].as_str().unwrap().to_owned()
}

fn left_guest() -> Guest {
    veth("eth0", 1);
    let guest = Guest::new();
    guest.policy("[[device]]\ncoexist = \"leave\"\n");
    guest.document(&json!([device(1, "net1", &[])]));
    put(
        &guest,
        "usr/lib/systemd/network/80-wired.network",
        "[Match]\nType=ether\n",
    );
    guest
}

// amazon-ec2-net-utils#146 (case 71); amazon-vpc-cni-k8s#3524 (case 75).
#[test]
fn a_manager_is_enabled_wherever_systemd_looks_and_unless_it_is_masked() {
    for (directory, mask) in [
        ("etc/systemd/system", "etc/systemd/system"),
        ("usr/lib/systemd/system", "etc/systemd/system"),
        // By netplan's generator.
        ("run/systemd/generator.late", "run/systemd/system"),
    ] {
        in_namespace(|| {
            let guest = left_guest();
            put(&guest, &format!("{directory}/{UNIT}"), "");
            let wanted = message(&guest);
            assert!(
                wanted.contains("left to systemd-networkd ("),
                "{directory}: {wanted}"
            );
            let mask = guest.path(mask).join("systemd-networkd.service");
            fs::create_dir_all(mask.parent().unwrap()).unwrap();
            symlink("/dev/null", mask).unwrap();
            assert_eq!(message(&guest), "", "{directory}");
        });
    }
}

// amazon-ec2-net-utils#146 (case 71).
#[test]
fn what_goes_on_with_a_file_counts_too() {
    in_namespace(|| {
        let guest = left_guest();
        put(&guest, ENABLED, "");
        let is_left = |words: &str| {
            let message = message(&guest);
            assert_eq!(message.contains("left to "), !words.is_empty(), "{message}");
            assert!(message.contains(words), "{message}");
        };
        is_left("80-wired.network)");
        put(
            &guest,
            "usr/local/lib/systemd/network/70-local.network",
            "[Match]\nName=eth0 net1",
        );
        is_left("70-local.network)");
        // Empty, one hides what is called like it, drop-ins and all.
        put(&guest, "etc/systemd/network/70-local.network", "");
        put(
            &guest,
            "run/systemd/network/70-local.network.d/a.conf",
            "[Match]\nName=*\n",
        );
        is_left("80-wired.network)");
        let dropped = "run/systemd/network/80-wired.network.d/10-a.conf";
        put(&guest, dropped, "[Match]\nName=en*\n");
        is_left("");
        put(&guest, dropped, "[Link]\nUnmanaged=yes\n");
        is_left("");
        // Of two with one name that of the earlier directory counts, and the later name.
        put(
            &guest,
            "etc/systemd/network/80-wired.network.d/10-a.conf",
            "",
        );
        is_left("80-wired.network)");
        put(
            &guest,
            "usr/lib/systemd/network/80-wired.network.d/20-b.conf",
            "[Link]\nUnmanaged=yes",
        );
        is_left("");
    });
}
