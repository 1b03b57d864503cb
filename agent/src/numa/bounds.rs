//! The CPUs and the memory that a workload is bound to so that it is near a device.

use super::{CpuList, NodeList, Partition, Topology};

/// The bounds, each empty where there is nothing to bind to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Online CPUs that the scheduler balances work on, and no cgroup has for itself.
    pub cpus: CpuList,
    /// Online CPUs that it leaves alone: for those who place their threads themselves.
    pub isolated: CpuList,
    /// Online CPUs that cgroups have for themselves.
    pub partitioned: CpuList,
    /// Nodes with memory.
    pub memory: NodeList,
}

impl Bounds {
    /// To these nodes and CPUs of the guest. None in a guest with one node, where all is near.
    pub fn new(nodes: &NodeList, cpus: &CpuList, topology: &Topology) -> Self {
        Self::of(nodes, cpus, topology, |_| false)
    }

    /// As [`Bounds::new`], for a workload that may have what is in partitions of which `is_own` says yes.
    pub fn of(
        nodes: &NodeList,
        cpus: &CpuList,
        topology: &Topology,
        is_own: impl Fn(&Partition) -> bool,
    ) -> Self {
        if !topology.has_distance() {
            return Self::default();
        }
        let isolated = cpus.intersection(&topology.isolated());
        let partitioned = cpus.intersection(&topology.partitioned(|it| !is_own(it)));
        let own = cpus.intersection(&topology.partitioned(&is_own));
        Self {
            cpus: cpus
                .difference(&isolated)
                .difference(&partitioned)
                .union(&own),
            isolated,
            partitioned,
            memory: nodes.intersection(&topology.nodes_with_memory()),
        }
    }
}
