//! Which interface is found for a device: what netlink and a sysfs root show, row by row. Each row is
//! looked at twice, as a kernel that names the parents of interfaces and as one before Linux 5.14.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use device_attributes::report::Reason;
use tempfile::TempDir;

use super::*;
use crate::plan::{Wanted, plan};

const A: [u8; 6] = [2, 0, 0, 0, 0, 0xa];
const B: [u8; 6] = [2, 0, 0, 0, 0, 0xb];
const MAC_A: &str = "02:00:00:00:00:0a";

/// An interface as the kernel shows it; its index is its place in the row, from 2 on.
#[derive(Clone, Copy)]
struct Nic {
    name: &'static str,
    /// Below `/sys/devices`.
    on: &'static str,
    mac: &'static [u8],
    permanent: &'static [u8],
    kind: Option<&'static str>,
    controller: Option<u32>,
    /// `addr_assign_type` in sysfs: 0 permanent, 1 random, 2 taken from another, 3 set
    /// (`include/uapi/linux/netdevice.h`).
    assigned: u8,
}

/// Hardware.
fn nic(name: &'static str, on: &'static str, mac: &'static [u8]) -> Nic {
    Nic {
        name,
        on,
        mac,
        permanent: mac,
        kind: None,
        controller: None,
        assigned: 0,
    }
}

/// What is made of others.
fn made(name: &'static str, kind: &'static str, mac: &'static [u8]) -> Nic {
    Nic {
        permanent: &[],
        kind: Some(kind),
        assigned: 2,
        ..nic(name, "virtual", mac)
    }
}

impl Nic {
    fn port_of(self, controller: u32) -> Self {
        Self {
            controller: Some(controller),
            ..self
        }
    }

    fn permanently(self, permanent: &'static [u8]) -> Self {
        Self { permanent, ..self }
    }

    fn assigned(self, assigned: u8) -> Self {
        Self { assigned, ..self }
    }

    fn link(self, index: u32, parents_are_named: bool) -> Link {
        let parent = self.on.rsplit('/').next().unwrap();
        let bus = match parent {
            "virtual" => None,
            parent if parent.starts_with("virtio") => Some("virtio"),
            parent if parent.contains("mlx5_core.sf") => Some("auxiliary"),
            parent if parent.parse::<PciAddress>().is_ok() => Some("pci"),
            parent if parent.ends_with(":1.0") => Some("usb"),
            _ => Some("vmbus"),
        };
        let bus = bus.filter(|_| parents_are_named);
        Link {
            index,
            name: self.name.to_owned(),
            address: self.mac.to_vec(),
            permanent_address: self.permanent.to_vec(),
            kind: self.kind.map(str::to_owned),
            controller: self.controller,
            parent: bus.map(|_| parent.to_owned()),
            parent_bus: bus.map(str::to_owned),
            mtu: 1500,
            ..Link::default()
        }
    }

    fn write(self, sys: &Path) {
        let directory = format!("devices/{}/net/{}", self.on, self.name);
        fs::create_dir_all(sys.join(&directory)).unwrap();
        let assigned = format!("{}\n", self.assigned);
        fs::write(sys.join(&directory).join("addr_assign_type"), assigned).unwrap();
        let class = sys.join("class/net").join(self.name);
        symlink(Path::new("../..").join(directory), class).unwrap();
    }
}

struct Row {
    what: &'static str,
    nics: Vec<Nic>,
    mac: Option<&'static str>,
    pci: Option<&'static str>,
    /// The interface's name, or the reason and a part of the message.
    found: Result<&'static str, (Reason, &'static str)>,
}

fn row(
    what: &'static str,
    nics: impl Into<Vec<Nic>>,
    mac: Option<&'static str>,
    pci: Option<&'static str>,
    found: Result<&'static str, (Reason, &'static str)>,
) -> Row {
    let nics = nics.into();
    Row {
        what,
        nics,
        mac,
        pci,
        found,
    }
}

/// Functions that have no interface, with their drivers.
const FUNCTIONS: [(&str, Option<&str>); 4] = [
    ("0000:00:14.0", Some("xhci_hcd")),
    ("0000:08:00.0", Some("mlx5_core")),
    ("0000:91:00.0", Some("vfio-pci")),
    ("0000:92:00.0", None),
];

fn sysfs(row: &Row) -> TempDir {
    let sys = tempfile::tempdir().unwrap();
    fs::create_dir_all(sys.path().join("class/net")).unwrap();
    for nic in &row.nics {
        nic.write(sys.path());
    }
    for (address, driver) in FUNCTIONS {
        let directory = sys.path().join("bus/pci/devices").join(address);
        fs::create_dir_all(&directory).unwrap();
        if let Some(driver) = driver {
            let target = Path::new("../../../../bus/pci/drivers").join(driver);
            symlink(target, directory.join("driver")).unwrap();
        }
    }
    sys
}

fn holds(row: &Row) {
    let sys = sysfs(row);
    let wanted = Wanted {
        mac_address: row.mac.map(|mac| mac.parse().unwrap()),
        guest_pci_address: row.pci.map(|address| address.parse().unwrap()),
        name: Some("net1".parse().unwrap()),
        ..Wanted::default()
    };
    let functions: Vec<PciAddress> = wanted.guest_pci_address.into_iter().collect();
    for parents_are_named in [true, false] {
        let links = row.nics.iter().zip(2..);
        let links: Vec<Link> = links
            .map(|(nic, index)| nic.link(index, parents_are_named))
            .collect();
        let observation = combine(links, &[], sys.path(), &functions);
        let plan = plan(std::slice::from_ref(&wanted), &observation);
        let device = &plan.devices[0];
        let said = format!(
            "{}, parents named: {parents_are_named}: {device:?}",
            row.what
        );
        match row.found {
            Ok(name) => {
                assert_eq!(device.problems, [], "{said}");
                let interface = observation.interface(device.interface.unwrap());
                assert_eq!(interface.unwrap().name, name, "{said}");
            }
            Err((reason, part)) => {
                assert_eq!(device.problems[0].reason, reason, "{said}");
                assert!(device.problems[0].message.contains(part), "{said}");
                // No other device of the guest is touched for it.
                assert_eq!(plan.transactions, [], "{said}");
            }
        }
    }
}

const E1: &str = "pci0000:80/0000:80:00.0/0000:81:00.0";
const E2: &str = "pci0000:80/0000:80:00.0/0000:82:00.0";

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

/// The PCI function stands above a virtio device; one on a bus of another kind has none of its own.
// ghw#372, hwloc#354, pciutils#184 (case 25); Linux `drivers/virtio/virtio.c` (case 27).
#[test]
fn the_function_is_the_parent_or_that_of_the_virtio_device() {
    let domain = "pci0000:00/0000:00:0e.0/pci10001:e0/10001:e0:06.0/10001:e1:00.0";
    for (on, address) in [
        (E1, "0000:81:00.0"),
        ("pci0000:00/0000:00:03.0/virtio2", "0000:00:03.0"),
        (domain, "10001:e1:00.0"),
    ] {
        holds(&row(
            "by address",
            [nic("eth0", on, &A)],
            None,
            Some(address),
            Ok("eth0"),
        ));
    }
    // Whatever is further up has other devices.
    let none = |part| Err((Reason::DeviceNotFound, part));
    for (on, address, found) in [
        (
            "pci0000:00/0000:00:14.0/usb1/1-1/1-1:1.0",
            "0000:00:14.0",
            "bound to xhci_hcd",
        ),
        (
            "pci0000:00/0000:08:00.0/mlx5_core.sf.4",
            "0000:08:00.0",
            "bound to mlx5_core",
        ),
        (domain, "0000:e1:00.0", "no PCI function 0000:e1:00.0"),
        (domain, "0000:00:0e.0", "no PCI function 0000:00:0e.0"),
        (
            "platform/a003e00.virtio_mmio/virtio1",
            "0000:00:03.0",
            "no PCI function",
        ),
        (
            "css0/0.0.0001/0.0.0002/virtio0",
            "0000:00:03.0",
            "no PCI function",
        ),
    ] {
        let nics = [nic("eth0", on, &A)];
        holds(&row("above", nics, None, Some(address), none(found)));
        // The MAC finds it on every bus, and where the host side was wrong about the address.
        holds(&row("by MAC", nics, Some(MAC_A), None, Ok("eth0")));
        holds(&row("by MAC", nics, Some(MAC_A), Some(address), Ok("eth0")));
    }
}

/// kubernetes-sigs/dranet@a35e2dd (case 29): a function without an interface is told apart from one that
/// is not there, and is no reason to wait.
#[test]
fn a_function_without_an_interface_says_why() {
    let others = [nic("eth0", E1, &B)];
    for (address, part) in [
        (
            "0000:91:00.0",
            "is bound to vfio-pci and has no network interface",
        ),
        ("0000:92:00.0", "is there, but no driver is bound to it"),
        ("0000:93:00.0", "the guest has no PCI function 0000:93:00.0"),
    ] {
        let problem = Err((Reason::DeviceNotFound, part));
        holds(&row("no interface", others, None, Some(address), problem));
    }
}
