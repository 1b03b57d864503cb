//! The CPUs and the memory that a workload is bound to so that it is near a device.

use super::{CpuList, NodeList, Topology};

/// The bounds, each empty where there is nothing to bind to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Online CPUs that the scheduler balances work on.
    pub cpus: CpuList,
    /// Online CPUs that it leaves alone: for those who place their threads themselves.
    pub isolated: CpuList,
    /// Nodes with memory.
    pub memory: NodeList,
}

impl Bounds {
    /// To these nodes and CPUs of the guest. None in a guest with one node, where all is near.
    pub fn new(nodes: &NodeList, cpus: &CpuList, topology: &Topology) -> Self {
        if !topology.has_distance() {
            return Self::default();
        }
        Self {
            cpus: cpus.difference(&topology.isolated),
            isolated: cpus.intersection(&topology.isolated),
            memory: nodes.intersection(&topology.nodes_with_memory()),
        }
    }
}
