//! Which interface is found for a device: what netlink and a sysfs root show, row by row. Each row is
//! looked at twice, as a kernel that names the parents of interfaces and as one before Linux 5.14.

mod by_function;
mod by_mac;

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
