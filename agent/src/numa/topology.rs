//! The guest's CPUs and NUMA nodes, as sysfs shows them. What cannot be read is not known: a kernel
//! without NUMA has no nodes, and sysfs may be masked.

use std::collections::BTreeMap;
use std::path::Path;

use device_attributes::NodeId;
use serde::{Deserialize, Serialize};

use super::cpu_list::{CpuList, Kind, List, NodeList};
use super::partitions::{self, Partition};
use crate::small_file;

/// Below sysfs.
const CPU: &str = "devices/system/cpu";
const NODE: &str = "devices/system/node";

/// One online node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Node {
    /// Its CPUs that are online.
    pub cpus: CpuList,
    /// Whether it has memory.
    pub has_memory: bool,
}

/// What the guest has, by `Documentation/ABI/stable/sysfs-devices-node` and
/// `Documentation/admin-guide/cputopology.rst`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Topology {
    /// The CPUs that run.
    pub online: CpuList,
    /// The CPUs that are there or may come, and do not run.
    #[serde(default, skip_serializing_if = "CpuList::is_empty")]
    pub offline: CpuList,
    /// The CPUs that the scheduler leaves alone: `isolcpus=`, and isolated cpuset partitions on kernels that
    /// count them here too.
    #[serde(default, skip_serializing_if = "CpuList::is_empty")]
    pub isolated: CpuList,
    /// The CPUs without a tick while one task runs (`nohz_full=`).
    #[serde(default, skip_serializing_if = "CpuList::is_empty")]
    pub without_tick: CpuList,
    /// The CPUs that cgroups have for themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partitions: Vec<Partition>,
    /// The online nodes. Empty on a kernel without NUMA.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub nodes: BTreeMap<NodeId, Node>,
}

impl Topology {
    /// Reads it from the sysfs at `sys`.
    pub fn read(sys: &Path) -> Self {
        let cpu = sys.join(CPU);
        let node = sys.join(NODE);
        let online_nodes = online_nodes(sys);
        // Without the file (before Linux 3.8, `CONFIG_NUMA=n`) nothing says that one has none.
        let has_memory: Option<NodeList> = read(&node.join("has_memory"));
        let nodes = online_nodes.iter().map(|id| {
            let has_memory = has_memory.as_ref().is_none_or(|nodes| nodes.contains(id));
            let cpus = cpus_of_node(sys, id);
            (id, Node { cpus, has_memory })
        });
        let online = list(&cpu.join("online"));
        Self {
            nodes: nodes.collect(),
            partitions: partitions::read(sys, &online),
            online,
            offline: list(&cpu.join("offline")),
            isolated: isolated_cpus(sys),
            without_tick: list(&cpu.join("nohz_full")),
        }
    }

    /// Whether there is anything to be near to or far from: more than one node.
    pub fn has_distance(&self) -> bool {
        self.nodes.len() > 1
    }

    /// The CPUs that the scheduler leaves alone, whoever asked for that.
    pub fn isolated(&self) -> CpuList {
        let partitions = self.partitions.iter().filter(|it| it.is_isolated);
        partitions.fold(self.isolated.clone(), |all, it| all.union(&it.cpus))
    }

    /// The CPUs in partitions of which `is_meant` says yes.
    pub fn partitioned(&self, is_meant: impl Fn(&Partition) -> bool) -> CpuList {
        let partitions = self.partitions.iter().filter(|it| is_meant(it));
        partitions.fold(CpuList::new(), |all, it| all.union(&it.cpus))
    }

    /// The online nodes.
    pub fn online_nodes(&self) -> NodeList {
        self.nodes.keys().copied().collect()
    }

    /// The online nodes that have memory.
    pub fn nodes_with_memory(&self) -> NodeList {
        let nodes = self.nodes.iter().filter(|(_, node)| node.has_memory);
        nodes.map(|(id, _)| *id).collect()
    }

    /// The online CPUs of these nodes; of those that are not there, none.
    pub fn cpus_of(&self, nodes: &NodeList) -> CpuList {
        let nodes = nodes.iter().filter_map(|id| self.nodes.get(&id));
        let all = nodes.fold(CpuList::new(), |all, node| all.union(&node.cpus));
        // A CPU that went offline while the files were read.
        if self.online.is_empty() {
            all
        } else {
            all.intersection(&self.online)
        }
    }

    /// The nodes that these CPUs are of.
    pub fn nodes_of(&self, cpus: &CpuList) -> NodeList {
        let near = |node: &Node| !node.cpus.intersection(cpus).is_empty();
        let nodes = self.nodes.iter().filter(|(_, node)| near(node));
        nodes.map(|(id, _)| *id).collect()
    }
}

/// The nodes that the guest may come to have; none on a kernel without NUMA.
pub fn possible_nodes(sys: &Path) -> NodeList {
    list(&sys.join(NODE).join("possible"))
}

/// The nodes that are online; none on a kernel without NUMA.
pub fn online_nodes(sys: &Path) -> NodeList {
    list(&sys.join(NODE).join("online"))
}

/// The online CPUs of a node.
pub fn cpus_of_node(sys: &Path, node: NodeId) -> CpuList {
    list(&sys.join(NODE).join(format!("node{node}/cpulist")))
}

/// The CPUs that the scheduler leaves alone.
pub fn isolated_cpus(sys: &Path) -> CpuList {
    list(&sys.join(CPU).join("isolated"))
}

/// A list in a file. `nohz_full` is `(null)` on kernels where it was not asked for.
fn read<K: Kind>(path: &Path) -> Option<List<K>> {
    let bytes = small_file::read(path).ok()?;
    std::str::from_utf8(&bytes).ok()?.parse().ok()
}

fn list<K: Kind>(path: &Path) -> List<K> {
    read(path).unwrap_or_default()
}

#[cfg(test)]
mod tests;
