//! The drop-ins that keep units near devices.

use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};
use std::path::{Path, PathBuf};

use device_attributes::one_line;

use crate::listing::listing;
use crate::numa::{Bounds, CpuList, Near, NodeList, Topology};
use crate::owners::DropIn;
use crate::policy::UnitName;

/// Where systemd reads drop-ins, relative to `/run` (`systemd.unit(5)`).
const DIRECTORY: &str = "systemd/system";
/// Read after most others: of two that say different things, the last counts.
const FILE: &str = "90-dra-guest.conf";
/// The most bytes of a device's name in a file.
const NAME_BYTES: usize = 256;

/// A unit that is to be near a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pinned {
    /// The unit.
    pub unit: UnitName,
    /// What the device is called.
    pub device: String,
    /// What is near it.
    pub near: Near,
}

/// Where the drop-in of a unit is, relative to `/run`.
pub(super) fn path_of(unit: &str) -> PathBuf {
    format!("{DIRECTORY}/{unit}.d/{FILE}").into()
}

/// Whether a file below `/run` is one of these.
pub fn is_drop_in(path: &Path) -> bool {
    path.starts_with(DIRECTORY)
}

/// What keeps a unit on CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// Its cgroup's cpuset, which follows when CPUs come and go. A process' own affinity would not: it is that of
    /// its start.
    Cpuset,
    /// Its processes' affinity: the kernel has no cpuset for systemd (`cgroup.controllers`).
    Affinity,
}

/// A drop-in for each unit, and what cannot be said in one, in sentences. A unit that works with several
/// devices is near all of them.
///
/// CPUs and nodes come of one look, and are in one file, so that they do not drift apart
/// (systemd#13248, systemd#14749). They are numbers that the guest has: with others a unit would not
/// start (`systemd.exec(5)`, `NUMA_POLICY`).
pub fn drop_ins(
    pinned: &[Pinned],
    topology: &Topology,
    bound: Bound,
) -> (Vec<DropIn>, Vec<String>) {
    let mut units: BTreeMap<&UnitName, Unit> = BTreeMap::new();
    if topology.has_distance() {
        for Pinned { unit, device, near } in pinned {
            let unit = units.entry(unit).or_default();
            unit.devices.push(one_line(device, NAME_BYTES));
            unit.cpus = unit.cpus.union(&near.cpus);
            unit.nodes = unit.nodes.union(&near.nodes);
        }
    }
    let all = topology.online.union(&topology.offline);
    let all = (bound == Bound::Cpuset).then_some(&all);
    let mut files = Vec::new();
    let mut troubles = Vec::new();
    for (
        name,
        Unit {
            devices,
            cpus,
            nodes,
        },
    ) in units
    {
        let devices = listing(devices);
        let bounds = Bounds::of(&nodes, &cpus, topology, |it| it.is_of(name.as_str()));
        troubles.extend(trouble(name, &devices, &bounds));
        if bounds.memory.is_empty() {
            troubles.push(format!(
                "the memory of {name} is not bound: NUMA node {nodes} of {devices} has none"
            ));
        }
        files.extend(drop_in(name, &devices, &bounds, all));
    }
    (files, troubles)
}

/// Why a unit is not brought to all CPUs near its devices, where cgroups have some for themselves, or to none.
fn trouble(name: &UnitName, devices: &str, bounds: &Bounds) -> Option<String> {
    let Bounds {
        cpus,
        isolated,
        partitioned,
        ..
    } = bounds;
    if !partitioned.is_empty() {
        return Some(format!(
            "{name} is not brought to the CPUs {partitioned} of {devices}: a cpuset partition has them for itself"
        ));
    }
    (cpus.is_empty() && !isolated.is_empty()).then(|| {
        format!(
            "{name} is not brought to the CPUs {isolated} of {devices}: they are isolated, and the scheduler \
             balances no work on those; the unit itself can have them, by CPUAffinity="
        )
    })
}

/// What one unit is near.
#[derive(Default)]
struct Unit {
    devices: Vec<String>,
    cpus: CpuList,
    nodes: NodeList,
}

/// `affinity`: that of its processes, where it is not what bounds them.
fn drop_in(
    name: &UnitName,
    devices: &str,
    bounds: &Bounds,
    affinity: Option<&CpuList>,
) -> Option<DropIn> {
    let Bounds { cpus, memory, .. } = bounds;
    if cpus.is_empty() && memory.is_empty() {
        return None;
    }
    // A slice has no processes of its own, of which systemd could set these.
    let is_slice = name.is_slice();
    let section = if is_slice { "Slice" } else { "Service" };
    let mut text =
        format!("# Written by dra-guest-agent: this unit is kept near {devices}.\n[{section}]\n");
    if !cpus.is_empty() {
        if !is_slice {
            // Over what the unit itself says, and systemd's own (`systemd-system.conf(5)`).
            set(&mut text, "CPUAffinity", affinity.unwrap_or(cpus));
        }
        set(&mut text, "AllowedCPUs", cpus);
    }
    if !memory.is_empty() {
        if !is_slice {
            text.push_str("NUMAPolicy=bind\n");
            set(&mut text, "NUMAMask", memory);
        }
        set(&mut text, "AllowedMemoryNodes", memory);
    }
    Some(DropIn {
        path: path_of(name.as_str()),
        text,
    })
}

/// These settings add to what an earlier file says, unless an empty one comes first.
fn set(text: &mut String, key: &str, value: &impl Display) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{key}=\n{key}={value}");
}

#[cfg(test)]
mod tests;
