//! Which of the kernel's announcements are the reason for another pass.

use std::collections::BTreeSet;

use crate::netlink::Change;
use crate::observe::Observation;
use crate::plan::{Plan, beyond};

/// The interfaces that a pass was about.
#[derive(Debug, Default)]
pub struct Concern {
    known: BTreeSet<u32>,
    /// The devices', and those that have what a port receives.
    ours: BTreeSet<u32>,
}

impl Concern {
    /// What an observation and the plan that was made from it were about.
    pub fn of(observation: &Observation, plan: &Plan) -> Self {
        let known = observation.interfaces.iter();
        let devices = plan.devices.iter().filter_map(|device| device.interface);
        let mut ours: BTreeSet<u32> = devices.collect();
        let devices = ours
            .iter()
            .filter_map(|index| observation.interface(*index));
        let beyond: Vec<_> = devices.flat_map(|it| beyond(it, observation)).collect();
        ours.extend(beyond.iter().map(|interface| interface.index));
        Self {
            known: known.map(|interface| interface.index).collect(),
            ours,
        }
    }

    /// Whether a change may have to do with a device: an interface of one or what that is a port of, a new interface, or
    /// a rule.
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
