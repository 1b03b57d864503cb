//! Whether the relay can serve guests: it listens, and knows the objects of its node.

use std::sync::atomic::{AtomicBool, Ordering};

/// Something that has to hold before guests can be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// The sockets of guests are open.
    Listening,
    /// The node's pods are listed.
    Pods,
    /// The node's VMs are listed.
    Vms,
}

/// With claims of files nothing has to be listed.
const FOR_FILES: &[Need] = &[Need::Listening];
/// With claims of an API server.
const FOR_A_NODE: &[Need] = &[Need::Listening, Need::Pods, Need::Vms];

static OF_A_NODE: AtomicBool = AtomicBool::new(false);
static LISTENING: AtomicBool = AtomicBool::new(false);
static PODS: AtomicBool = AtomicBool::new(false);
static VMS: AtomicBool = AtomicBool::new(false);

/// From now on the objects of a node are needed, too.
pub fn expect_a_node() {
    OF_A_NODE.store(true, Ordering::Relaxed);
}

/// From now on this holds. It does not end when an API server goes away: what was listed is still known, and
/// guests are still served.
pub fn fulfil(need: Need) {
    need.flag().store(true, Ordering::Relaxed);
}

/// What is still missing.
pub fn missing() -> Vec<Need> {
    let needs = if OF_A_NODE.load(Ordering::Relaxed) {
        FOR_A_NODE
    } else {
        FOR_FILES
    };
    needs
        .iter()
        .copied()
        .filter(|need| !need.flag().load(Ordering::Relaxed))
        .collect()
}

impl Need {
    fn flag(self) -> &'static AtomicBool {
        match self {
            Self::Listening => &LISTENING,
            Self::Pods => &PODS,
            Self::Vms => &VMS,
        }
    }

    /// What an operator reads while it does not hold.
    pub fn words(self) -> &'static str {
        match self {
            Self::Listening => "the relay does not listen for guests yet",
            Self::Pods => "the virt-launcher pods of the node are not listed yet",
            Self::Vms => "the VirtualMachineInstances of the node are not listed yet",
        }
    }
}
