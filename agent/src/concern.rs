//! Which of the kernel's announcements are the reason for another pass.

use std::collections::BTreeSet;

use crate::netlink::Change;
use crate::observe::Observation;
use crate::plan::Plan;

/// The interfaces that a pass was about.
#[derive(Debug, Default)]
pub struct Concern {
    known: BTreeSet<u32>,
    ours: BTreeSet<u32>,
}

impl Concern {
    /// What an observation and the plan that was made from it were about.
    pub fn of(observation: &Observation, plan: &Plan) -> Self {
        let known = observation.interfaces.iter();
        let ours = plan.devices.iter();
        Self {
            known: known.map(|interface| interface.index).collect(),
            ours: ours.filter_map(|device| device.interface).collect(),
        }
    }

    /// Whether a change may have to do with a device: an interface of one, a new interface, or a rule.
    pub fn is(&self, change: Change) -> bool {
        let is_ours = |index: &u32| self.ours.contains(index);
        match change {
            Change::Link(index) => is_ours(&index) || !self.known.contains(&index),
            Change::Address(index) => is_ours(&index),
            Change::Route(index) => index.is_none_or(|index| is_ours(&index)),
            Change::Rule | Change::Lost => true,
        }
    }
}
