//! Where a command runs that is to be near a device, and how it is put there.

use std::io;
use std::path::Path;

use std::str::FromStr;

use device_attributes::NodeId;

use super::topology::{cpus_of_node, isolated_cpus, online_nodes};
use super::{CpuList, NodeList};
use crate::kernel_calls::{MemoryMode, affinity, set_affinity, set_memory_policy};

/// What the memory of a command is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Memory {
    /// From the device's nodes alone: with none left there, the kernel ends the command.
    Bind,
    /// From the device's nodes as long as they have some.
    #[default]
    Preferred,
    /// As it was.
    None,
}

/// A word that is none of [`Memory::NAMES`].
#[derive(Debug, thiserror::Error)]
#[error("expected is bind, preferred or none")]
pub struct MemoryError;

impl Memory {
    /// What each is called on a command line.
    pub const NAMES: &[&str] = &["bind", "preferred", "none"];
    /// What the default is called.
    pub const PREFERRED: &str = "preferred";
}

impl FromStr for Memory {
    type Err = MemoryError;

    fn from_str(name: &str) -> Result<Self, MemoryError> {
        match name {
            "bind" => Ok(Self::Bind),
            Self::PREFERRED => Ok(Self::Preferred),
            "none" => Ok(Self::None),
            _ => Err(MemoryError),
        }
    }
}

/// Why a command cannot be put near a device.
#[derive(Debug, thiserror::Error)]
pub enum PlacementError {
    /// The guest does not have the node.
    #[error("it is on NUMA node {missing}, which this guest does not have: it has {online}")]
    NoNode {
        /// The nodes that are not there.
        missing: NodeList,
        /// Those that are.
        online: NodeList,
    },
    /// Nothing but isolated CPUs is near.
    #[error(
        "its CPUs {0} are all isolated, and the scheduler balances no work on those: to run there all the \
         same, begin with taskset --cpu-list {0}"
    )]
    Isolated(CpuList),
    /// None of the CPUs may be used.
    #[error("none of its CPUs {near} is in the cpuset of this process, which runs on {allowed}")]
    Excluded {
        /// The CPUs that are near.
        near: CpuList,
        /// Those that the process may run on.
        allowed: CpuList,
    },
    /// Memory cannot be bound to the nodes.
    #[error(
        "memory cannot be bound to NUMA node {0}: it has none, or the cpuset of this process leaves it none \
         of it; --memory preferred does with what there is"
    )]
    NoMemory(NodeList),
    /// The kernel refuses.
    #[error("{call}: {error}{hint}")]
    Refused {
        /// The system call.
        call: &'static str,
        /// Its answer.
        error: io::Error,
        /// What may be done about it.
        hint: &'static str,
    },
}

/// Puts the calling thread near these nodes of the guest whose sysfs is at `sys`, for the program that
/// comes in its place: the CPUs, and the memory. `cpus` are the near CPUs where they are not those of the
/// nodes.
///
/// Nothing is done in a guest with one node, or without NUMA. Needs no privilege: a thread may always
/// say this of itself. Gives back what was not done, in sentences, where that is no error.
///
/// # Errors
/// When there is nothing near that may be used, and when the kernel refuses.
pub fn place(
    sys: &Path,
    nodes: &NodeList,
    cpus: Option<&CpuList>,
    memory: Memory,
) -> Result<Vec<String>, PlacementError> {
    let mut online = online_nodes(sys);
    if online.is_empty() {
        // A kernel without NUMA has the one node that it does not show.
        online = NodeId::try_from(0).into_iter().collect();
    }
    if !nodes.is_subset(&online) {
        let missing = nodes.difference(&online);
        return Err(PlacementError::NoNode { missing, online });
    }
    if online.len() < 2 {
        return Ok(Vec::new());
    }
    let near = match cpus {
        Some(cpus) => cpus.clone(),
        None => nodes
            .iter()
            .map(|node| cpus_of_node(sys, node))
            .fold(CpuList::new(), |all, cpus| all.union(&cpus)),
    };
    let mut remarks = Vec::new();
    if near.is_empty() {
        remarks.push(format!("NUMA node {nodes} has no CPUs: it runs on any"));
    } else {
        run_on(sys, &near)?;
    }
    remarks.extend(take_memory(nodes, memory)?);
    Ok(remarks)
}

fn run_on(sys: &Path, near: &CpuList) -> Result<(), PlacementError> {
    let allowed = affinity().map_err(|error| refused("sched_getaffinity", error))?;
    let cpus = cpus(near, &allowed, || isolated_cpus(sys))
        .ok_or_else(|| PlacementError::Isolated(near.clone()))?;
    if cpus == allowed {
        return Ok(());
    }
    set_affinity(&cpus).map_err(|error| match error.raw_os_error() {
        Some(libc::EINVAL) => PlacementError::Excluded {
            near: cpus,
            allowed,
        },
        _ => refused("sched_setaffinity", error),
    })
}

/// Of the near CPUs those that the process may run on already: someone chose them, and `isolcpus=` is
/// kept. Where there are none the affinity is replaced, which is a wish, as `taskset(1)` makes it, or
/// systemd's `CPUAffinity=`; what is a bound is the cpuset, and the kernel keeps it. Isolated CPUs are
/// taken only where someone chose them.
fn cpus(near: &CpuList, allowed: &CpuList, isolated: impl FnOnce() -> CpuList) -> Option<CpuList> {
    let chosen = near.intersection(allowed);
    if !chosen.is_empty() {
        return Some(chosen);
    }
    Some(near.difference(&isolated())).filter(|cpus| !cpus.is_empty())
}

fn take_memory(nodes: &NodeList, memory: Memory) -> Result<Option<String>, PlacementError> {
    let one: NodeList = nodes.first().into_iter().collect();
    let several = nodes.len() > 1;
    let result = match memory {
        Memory::None => return Ok(None),
        Memory::Bind => set_memory_policy(MemoryMode::Bind, nodes),
        Memory::Preferred if several => set_memory_policy(MemoryMode::PreferredMany, nodes)
            // Before Linux 5.15 there is no such mode.
            .or_else(|_| set_memory_policy(MemoryMode::Preferred, &one)),
        Memory::Preferred => set_memory_policy(MemoryMode::Preferred, nodes),
    };
    let Err(error) = result else { return Ok(None) };
    match (error.raw_os_error(), memory) {
        (Some(libc::EINVAL), Memory::Bind) => Err(PlacementError::NoMemory(nodes.clone())),
        (Some(libc::EINVAL), _) => Ok(Some(format!(
            "NUMA node {nodes} has no memory for this process: it comes from the nearest that has"
        ))),
        // Without a policy memory comes from the node of the CPU that asks first, and that is near.
        (Some(libc::EPERM | libc::ENOSYS), Memory::Preferred) => Ok(Some(format!(
            "set_mempolicy: {error}: a system call filter, as of a container, takes it away, so that memory comes \
             from where it runs"
        ))),
        _ => Err(refused("set_mempolicy", error)),
    }
}

fn refused(call: &'static str, error: io::Error) -> PlacementError {
    let hint = match (call, error.raw_os_error()) {
        // The kernel has no such answer here.
        ("set_mempolicy", Some(libc::EPERM | libc::ENOSYS)) => {
            ": a system call filter, as of a container, takes it away: --memory none does without"
        }
        (_, Some(libc::EPERM | libc::ENOSYS)) => {
            ": a system call filter, as of a container, takes it away"
        }
        _ => "",
    };
    PlacementError::Refused { call, error, hint }
}

#[cfg(test)]
mod tests;
