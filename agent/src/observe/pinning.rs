//! What has to be known to bring a device's interrupts and queues near it. It is looked at only where a
//! policy asks for that.

use std::collections::{BTreeMap, BTreeSet};

use device_attributes::PciAddress;
use serde::{Deserialize, Serialize};

use super::{About, Asked, Interface, interrupts, queues};
use crate::irqbalance::Irqbalance;
use crate::netlink::{Channels, Ethtool};
use crate::numa::{CpuList, Topology};
use crate::roots::Roots;
use crate::small_file;

/// What has to be known to bring devices' interrupts and queues near them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pinning {
    /// The guest's CPUs and nodes.
    pub topology: Topology,
    /// What sysfs and procfs say of the PCI functions that were asked about.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub functions: BTreeMap<PciAddress, Vectors>,
    /// The queues of the interfaces that were asked about, by their index.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queues: BTreeMap<u32, InterfaceQueues>,
    /// The interrupts that irqbalance leaves alone; absent when it does not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub irqbalance: Option<BTreeSet<u32>>,
    /// The sysctl `net.core.rps_sock_flow_entries`.
    #[serde(default)]
    pub flow_entries: u32,
}

/// A PCI function's place, and its interrupts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Vectors {
    /// `local_cpulist`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_cpus: Option<CpuList>,
    /// Its interrupts, by their number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interrupts: Vec<Interrupt>,
}

/// One interrupt of a device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Interrupt {
    /// The kernel's number.
    pub number: u32,
    /// The CPUs that may serve it (`smp_affinity_list`).
    pub cpus: CpuList,
    /// The CPUs that do (`effective_affinity_list`).
    #[serde(default, skip_serializing_if = "CpuList::is_empty")]
    pub serving: CpuList,
    /// The queue that it is for, where its name says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<u32>,
    /// Why it cannot be moved; absent when it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed: Option<Fixed>,
}

/// Why an interrupt cannot be moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Fixed {
    /// The kernel manages it (`IRQD_AFFINITY_MANAGED`): its driver has one for each CPU.
    Managed,
    /// Other devices have it too.
    Shared,
}

/// The queues of an interface.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InterfaceQueues {
    /// Its combined channels; absent when its driver has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channels: Option<Channels>,
    /// The CPUs that send by each queue (`xps_cpus`). Empty when it has one queue, or the kernel no XPS.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transmit: Vec<CpuList>,
    /// Its queues to receive. Empty when the kernel has no RPS.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receive: Vec<ReceiveQueue>,
}

/// A queue to receive.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReceiveQueue {
    /// The CPUs that what it receives is handed to (`rps_cpus`). None: the one that was interrupted.
    pub cpus: CpuList,
    /// How many flows it follows (`rps_flow_cnt`).
    pub flows: u32,
}

/// Looks at what is asked about.
pub(super) fn look(roots: &Roots, interfaces: &[Interface], asked: &Asked) -> Pinning {
    let Asked {
        pinned, unmovable, ..
    } = asked;
    let mut functions = BTreeSet::new();
    let mut queues = BTreeMap::new();
    let mut ethtool = Ethtool::open();
    for interface in interfaces {
        if pinned.iter().any(|pinned| pinned.is(interface)) {
            functions.extend(interface.pci_address);
            queues.insert(
                interface.index,
                queues::look(&roots.sys, interface, ethtool.as_mut()),
            );
        }
    }
    functions.extend(pinned.iter().filter_map(|pinned| match pinned {
        About::Function(address) => Some(*address),
        _ => None,
    }));
    let functions = functions.into_iter();
    let functions = functions.map(|address| {
        let mut vectors = interrupts::look(roots, address);
        for interrupt in &mut vectors.interrupts {
            if unmovable.contains(&interrupt.number) {
                interrupt.fixed.get_or_insert(Fixed::Managed);
            }
        }
        (address, vectors)
    });
    let flow_entries = roots.proc.join("sys/net/core/rps_sock_flow_entries");
    Pinning {
        topology: Topology::read(&roots.sys),
        functions: functions.collect(),
        queues,
        irqbalance: Irqbalance::find(&roots.run).map(|found| found.banned),
        flow_entries: number(&flow_entries).unwrap_or_default(),
    }
}

/// The number that a file of the kernel has.
pub(super) fn number(path: &std::path::Path) -> Option<u32> {
    let bytes = small_file::read(path).ok()?;
    std::str::from_utf8(&bytes).ok()?.trim().parse().ok()
}
