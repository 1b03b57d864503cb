//! Which of the guest's NUMA nodes a device is near: a pure function of what sysfs, the document and
//! the policy say of it.
//!
//! The first that answers wins: sysfs' node, the document's node of the guest, CPUs that the device is
//! aligned with, the host's node by way of a map. The host's numbers mean nothing in the guest: without
//! a map they are shown, and never used.

use std::collections::BTreeMap;
use std::fmt;

use device_attributes::{AttributeValue, Device, Document, NodeId};
use serde::{Deserialize, Serialize};

use super::cpu_list::{Kind, List};
use super::{CpuList, NodeList, Topology};
use crate::listing::listing;

/// The attribute in which KubeVirt's config drive lists the guest's CPUs on the device's node.
const ALIGNED_CPUS: &str = "kubevirt.io/alignedCPUs";

/// What is known of one device's place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Clues {
    /// `numa_node` of its PCI function; absent when the kernel says -1, or has no NUMA.
    pub sysfs_node: Option<NodeId>,
    /// `local_cpulist` of its PCI function; absent when there is none.
    pub local_cpus: Option<CpuList>,
    /// The document's `guest.numaNode`.
    pub guest_node: Option<NodeId>,
    /// The guest's CPUs that the document says it is aligned with.
    pub aligned_cpus: CpuList,
    /// The host's nodes that it is near, the one that it is on first.
    pub host_nodes: Vec<NodeId>,
}

/// Where a device is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Locality {
    /// Near some of the guest's nodes, and their CPUs that are online.
    Near(Near),
    /// The guest has one node at most: all is near.
    Everywhere,
    /// Nothing says where. The sentence says why.
    Unknown(String),
}

/// The guest's part that a device is near.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Near {
    /// The nodes, all of which the guest has.
    pub nodes: NodeList,
    /// The CPUs, all of which are online. None on nodes that have memory alone.
    pub cpus: CpuList,
    /// What says so.
    pub by: By,
}

/// What says where a device is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum By {
    /// `numa_node` in sysfs.
    Sysfs,
    /// The document's `guest.numaNode`.
    Document,
    /// `local_cpulist` in sysfs.
    LocalCpus,
    /// The document's aligned CPUs.
    AlignedCpus,
    /// This node of the host, by a map.
    HostNode(NodeId),
}

/// A node or CPUs that the guest does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{by} says {what}, which this guest does not have: it has {has}")]
pub struct NotThere {
    by: By,
    what: String,
    has: String,
}

/// Which nodes of the guest the host's nodes are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostToGuest {
    policy: BTreeMap<NodeId, NodeList>,
    /// CPUs of the guest that KubeVirt says are on the node.
    aligned: BTreeMap<NodeId, CpuList>,
}

impl HostToGuest {
    /// By the policy's table; for nodes that it does not have, by what KubeVirt says of the document's
    /// devices: one that is on a node of the host and aligned with CPUs of the guest maps the one to
    /// the nodes of the others.
    pub fn new(policy: &BTreeMap<NodeId, NodeList>, document: &Document) -> Self {
        let policy = policy.clone();
        let mut aligned = BTreeMap::new();
        for device in &document.devices {
            let cpus = aligned_cpus(device);
            if let Some(host) = device.host.numa_node
                && !cpus.is_empty()
            {
                aligned.insert(host, cpus);
            }
        }
        Self { policy, aligned }
    }

    fn guest_nodes(&self, host: NodeId, topology: &Topology) -> Option<NodeList> {
        if let Some(nodes) = self.policy.get(&host) {
            return Some(nodes.clone());
        }
        let nodes = topology.nodes_of(self.aligned.get(&host)?);
        (!nodes.is_empty()).then_some(nodes)
    }
}

impl Clues {
    /// What the document says of a device; nothing of sysfs.
    pub fn of_document(device: &Device) -> Self {
        Self {
            sysfs_node: None,
            local_cpus: None,
            guest_node: device.guest.numa_node,
            aligned_cpus: aligned_cpus(device),
            host_nodes: device.host_numa_nodes(),
        }
    }
}

fn aligned_cpus(device: &Device) -> CpuList {
    let Some(AttributeValue::Ints(cpus)) = device.attributes.get(ALIGNED_CPUS) else {
        return CpuList::new();
    };
    cpus.iter()
        .filter_map(|cpu| u32::try_from(*cpu).ok())
        .collect()
}

/// Which part of the guest a device is near.
///
/// # Errors
/// When what answers names a node or CPUs that the guest does not have.
pub fn locality(
    clues: &Clues,
    map: &HostToGuest,
    topology: &Topology,
) -> Result<Locality, NotThere> {
    if let Some(node) = clues.sysfs_node {
        let near = near_nodes([node].into_iter().collect(), By::Sysfs, topology);
        // It was there when the kernel took it down: a node goes with its last CPU, where it has no memory.
        return Ok(near.unwrap_or_else(|error| {
            let has = error.has;
            Locality::Unknown(format!(
                "the guest's kernel says NUMA node {node}, which is offline: it has {has}"
            ))
        }));
    }
    if let Some(node) = clues.guest_node {
        return near_nodes([node].into_iter().collect(), By::Document, topology);
    }
    if let Some(cpus) = &clues.local_cpus
        // All of them: that is what a kernel says that does not know.
        && !topology.online.is_subset(cpus)
        && !cpus.is_empty()
    {
        return near_cpus(cpus, By::LocalCpus, topology);
    }
    if !clues.aligned_cpus.is_empty() {
        return near_cpus(&clues.aligned_cpus, By::AlignedCpus, topology);
    }
    match clues.host_nodes.split_first() {
        Some((host, _)) => near_host(*host, &clues.host_nodes, map, topology),
        None if !topology.has_distance() => Ok(Locality::Everywhere),
        None => Ok(Locality::Unknown(
            "neither the guest's kernel nor the attributes say which NUMA node it is on".to_owned(),
        )),
    }
}

fn near_nodes(nodes: NodeList, by: By, topology: &Topology) -> Result<Locality, NotThere> {
    let online = if topology.nodes.is_empty() {
        // A kernel without NUMA has the one node that it does not show.
        NodeId::try_from(0).into_iter().collect()
    } else {
        topology.online_nodes()
    };
    if !nodes.is_subset(&online) {
        return Err(NotThere {
            by,
            what: named(&nodes.difference(&online)),
            has: named(&online),
        });
    }
    if !topology.has_distance() {
        return Ok(Locality::Everywhere);
    }
    let cpus = topology.cpus_of(&nodes);
    Ok(Locality::Near(Near { nodes, cpus, by }))
}

fn near_cpus(cpus: &CpuList, by: By, topology: &Topology) -> Result<Locality, NotThere> {
    let known = topology.online.union(&topology.offline);
    let there = cpus.intersection(&topology.online);
    if cpus.intersection(&known).is_empty() {
        return Err(NotThere {
            by,
            what: named(cpus),
            has: named(&known),
        });
    }
    if !topology.has_distance() {
        return Ok(Locality::Everywhere);
    }
    if there.is_empty() {
        let cpus = named(cpus);
        return Ok(Locality::Unknown(format!(
            "it is aligned with {cpus}, none of which is online"
        )));
    }
    Ok(Locality::Near(Near {
        nodes: topology.nodes_of(&there),
        cpus: there,
        by,
    }))
}

/// By the nodes of the host: the one that it is on must be in the map, those that are near may be.
fn near_host(
    host: NodeId,
    hosts: &[NodeId],
    map: &HostToGuest,
    topology: &Topology,
) -> Result<Locality, NotThere> {
    if map.guest_nodes(host, topology).is_none() {
        if !topology.has_distance() {
            return Ok(Locality::Everywhere);
        }
        let why = format!(
            "it is on NUMA node {} of the host, which says nothing in the guest without \
             host-to-guest in the policy's [numa] table",
            listing(hosts)
        );
        return Ok(Locality::Unknown(why));
    }
    let nodes = hosts.iter();
    let nodes = nodes.filter_map(|host| map.guest_nodes(*host, topology));
    let nodes = nodes.fold(NodeList::new(), |all, nodes| all.union(&nodes));
    near_nodes(nodes, By::HostNode(host), topology)
}

/// As in "CPUs 2-3".
pub(crate) fn named<K: Kind>(list: &List<K>) -> String {
    let plural = if list.len() == 1 { "" } else { "s" };
    format!("{}{plural} {list}", K::NOUN)
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sysfs => f.write_str("sysfs"),
            Self::Document => f.write_str("the attributes' guest.numaNode"),
            Self::LocalCpus => f.write_str("sysfs' local_cpulist"),
            Self::AlignedCpus => write!(f, "the attribute {ALIGNED_CPUS}"),
            Self::HostNode(host) => write!(f, "the map of the host's node {host}"),
        }
    }
}

#[cfg(test)]
mod tests;
