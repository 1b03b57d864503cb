//! What systemd says of the units.

use dra_guest_tests::packages::DebianRoot;

use super::packages;

/// The highest exposure of each on systemd's scale from 0 to 10, in tenths, with what stays open.
const EXPOSURE: [(&str, u32); 4] = [
    // CAP_NET_ADMIN in the host's network; root, whose are the runtime directories.
    // What it refuses twice is left out, and counts: 2.6 (`guest_without_share` tries what it refuses).
    ("dra-guest-agent.service", 26),
    // CAP_SYS_ADMIN, for a mount of its own on kernels that do not tell tags.
    ("dra-guest-devices.service", 20),
    // CAP_SYS_ADMIN and block devices, for the mount of the config drive.
    ("dra-guest-config-drive.service", 20),
    // The network, which it speaks with the API server.
    ("dra-guest-relay.service", 20),
];

fn installed() -> DebianRoot {
    let root = DebianRoot::new().unwrap();
    for name in ["dra-guest-agent", "dra-guest-node"] {
        let path = root.bring(&packages().deb(name).unwrap()).unwrap();
        root.stdout_of(&format!("dpkg --install {path}")).unwrap();
    }
    root
}

#[test]
fn systemd_finds_no_fault_with_them() {
    let root = installed();
    // Man pages are not looked for: a minimal root has no man.
    let output = root
        .run(
            "cd /usr/lib/systemd/system && systemd-analyze verify --man=no \
             ./dra-guest-agent.service ./dra-guest-devices.service ./dra-guest-config-drive.service \
             ./run-kubevirt.mount ./dra-guest-relay.service",
        )
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}");
}

#[test]
fn each_is_as_little_exposed_as_it_can_be() {
    let root = installed();
    for (unit, most) in EXPOSURE {
        let output = root
            .run(&format!(
                "systemd-analyze security --offline=true --no-pager --threshold={most} \
                 /usr/lib/systemd/system/{unit}"
            ))
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let last = said.lines().last().unwrap_or_default();
        println!("{unit}: {last}");
        assert!(
            output.status.success() && said.contains("Overall exposure level"),
            "{said}"
        );
    }
}
