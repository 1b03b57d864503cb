//! Interfaces told by their MAC address: what is made of others has it too, and some have none.

use super::*;

/// cloud-init#3316 (case 2), talos#9811 (case 14): the MAC of a port is that of what is made of it too.
#[test]
fn what_is_made_of_others_is_never_meant() {
    for kind in [
        "bond",
        "team",
        "bridge",
        "vlan",
        "macvlan",
        "macvtap",
        "ipvlan",
        "vxlan",
        "openvswitch",
        "hsr",
        "vrf",
        "dummy",
        "tun",
    ] {
        let above = made("above0", kind, &A);
        let nics = [above, nic("eth0", E1, &A).port_of(2)];
        holds(&row(kind, nics, Some(MAC_A), None, Ok("eth0")));
        let alone = (Reason::DeviceNotFound, MAC_A);
        holds(&row(kind, [above], Some(MAC_A), None, Err(alone)));
    }
    // Both ports have the bond's MAC now; what they were made with tells them apart.
    let ports = [
        made("bond0", "bond", &A),
        nic("eth0", E1, &A).port_of(2),
        nic("eth1", E2, &A).permanently(&B).port_of(2),
    ];
    holds(&row("first port", ports, Some(MAC_A), None, Ok("eth0")));
    let second = Some("02:00:00:00:00:0b");
    holds(&row("second port", ports, second, None, Ok("eth1")));
    // What has ports is a controller whatever its kind: net_failover's and Hyper-V's have none.
    let twins = [
        nic("eth0", "LNXSYSTM:00/VMBUS:00/f8615163-df3e-46c5-913f", &A),
        nic("eth1", E1, &A).port_of(2),
    ];
    holds(&row("netvsc", twins, Some(MAC_A), None, Ok("eth1")));
    let virtio = "pci0000:00/0000:00:03.0/virtio0";
    let trio = [
        nic("eth0", virtio, &A),
        nic("eth0nsby", virtio, &A).port_of(2),
        nic("eth1", E1, &A).port_of(2),
    ];
    let either = (Reason::Ambiguous, "eth0nsby, eth1");
    holds(&row("failover", trio, Some(MAC_A), None, Err(either)));
    for (address, name) in [("0000:81:00.0", "eth1"), ("0000:00:03.0", "eth0nsby")] {
        holds(&row("failover", trio, Some(MAC_A), Some(address), Ok(name)));
        holds(&row("failover", trio, None, Some(address), Ok(name)));
    }
}

/// cloud-init#6782, cloud-init#6140 (case 5): hardware may have been given another's MAC, as a USB
/// adapter the one of its dock. That makes it no virtual interface.
#[test]
fn a_mac_counts_however_it_was_assigned() {
    for assigned in 0..4 {
        let dock = nic("eth0", E1, &A).assigned(assigned);
        holds(&row("assigned", [dock], Some(MAC_A), None, Ok("eth0")));
        let usb = nic("eth0", "pci0000:00/0000:00:14.0/usb1/1-1/1-1:1.0", &A);
        let usb = usb.permanently(&B).assigned(assigned);
        holds(&row("usb", [usb], Some(MAC_A), None, Ok("eth0")));
    }
    // The MAC of a virtual function that the host gave none is random, and permanent for its driver or
    // not at all.
    for permanent in [&A[..], &[]] {
        let igbvf = nic("eth0", E1, &A).permanently(permanent).assigned(1);
        holds(&row("igbvf", [igbvf], Some(MAC_A), None, Ok("eth0")));
        let other = Some("02:00:00:00:00:0b");
        let conflict = (Reason::IdentityConflict, "set-mac");
        holds(&row(
            "igbvf",
            [igbvf],
            other,
            Some("0000:81:00.0"),
            Err(conflict),
        ));
    }
}

/// cloud-init LP#1692028, LP#1796917 (case 9), boot-to-talos#22 (case 15): an address of zeros, of
/// any length, is none, and neither is one of InfiniBand.
#[test]
fn a_permanent_address_that_is_none_gives_way_to_the_current_one() {
    const ZERO: [&[u8]; 5] = [&[0; 6], &[0; 4], &[0; 20], &[], &[0; 8]];
    for none in ZERO {
        let bonded = [
            made("bond0", "bond", &A),
            nic("eth0", E1, &A).permanently(none).port_of(2),
            nic("wwan0", E2, none),
        ];
        holds(&row(
            "no permanent MAC",
            bonded,
            Some(MAC_A),
            None,
            Ok("eth0"),
        ));
    }
    let infiniband = nic("ib0", E1, &[2; 20]);
    let not_found = (Reason::DeviceNotFound, MAC_A);
    holds(&row(
        "InfiniBand",
        [infiniband],
        Some(MAC_A),
        None,
        Err(not_found),
    ));
    holds(&row(
        "InfiniBand",
        [infiniband],
        None,
        Some("0000:81:00.0"),
        Ok("ib0"),
    ));
}

/// nmstate#2716, nmstate#2793, nmstate#3124 (case 13): what was made with a MAC goes before what has it
/// now, and of several none is taken.
// nmstate#2716, nmstate#2793, nmstate#3124 (case 13); kubevirt#6351 (case 21).
#[test]
fn several_that_answer_are_told_apart_or_none_is_taken() {
    let swapped = [
        nic("eth0", E1, &B).permanently(&A),
        nic("eth1", E2, &A).permanently(&B),
    ];
    holds(&row("swapped", swapped, Some(MAC_A), None, Ok("eth0")));
    let equal = [nic("eth0", E1, &A), nic("eth1", E2, &A)];
    let both = (Reason::Ambiguous, "eth0, eth1");
    holds(&row("equal", equal, Some(MAC_A), None, Err(both)));
    holds(&row(
        "equal",
        equal,
        Some(MAC_A),
        Some("0000:82:00.0"),
        Ok("eth1"),
    ));
    let elsewhere = (Reason::Ambiguous, "0000:83:00.0");
    holds(&row(
        "equal",
        equal,
        Some(MAC_A),
        Some("0000:83:00.0"),
        Err(elsewhere),
    ));
    let different = [nic("eth0", E1, &A), nic("eth1", E2, &B)];
    let conflict = (
        Reason::IdentityConflict,
        "eth0, but the PCI function 0000:82:00.0 is eth1",
    );
    holds(&row(
        "crossed",
        different,
        Some(MAC_A),
        Some("0000:82:00.0"),
        Err(conflict),
    ));
    let ports = [nic("eth0", E1, &A), nic("eth1", E1, &B)];
    let either = (Reason::Ambiguous, "eth0, eth1");
    holds(&row(
        "two ports",
        ports,
        None,
        Some("0000:81:00.0"),
        Err(either),
    ));
    holds(&row(
        "two ports",
        ports,
        Some(MAC_A),
        Some("0000:81:00.0"),
        Ok("eth0"),
    ));
}
