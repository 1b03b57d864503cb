//! What one interface needs beside its name, while it is put together: its steps so far, and what
//! stands in the way.

use device_attributes::MacAddress;
use device_attributes::report::Reason;

use super::{Action, Problem, Step, Wanted};
use crate::observe::{Interface, Observation};

/// The steps and problems of one device.
pub(super) struct Draft<'a> {
    /// The device's place in the list of wanted devices.
    pub device: usize,
    pub wanted: &'a Wanted,
    pub interface: &'a Interface,
    pub observation: &'a Observation,
    /// The name that the interface has by then.
    pub name: &'a str,
    /// The MAC address that the policy gives it, where it does.
    pub given_mac: Option<MacAddress>,
    /// Why it can have no IPv6; nothing when it can.
    pub without_ipv6: Option<String>,
    pub steps: Vec<Step>,
    pub problems: Vec<Problem>,
}

impl Draft<'_> {
    /// A step for the interface itself; `key` is the policy's name of the wish.
    pub(super) fn step(&mut self, action: Action, key: &str, reason: impl Into<String>) {
        self.step_of(
            self.interface.index,
            self.name.to_owned(),
            action,
            key,
            reason,
        );
    }

    /// A step for an interface that goes with it.
    pub(super) fn step_of(
        &mut self,
        interface: u32,
        name: String,
        action: Action,
        key: &str,
        reason: impl Into<String>,
    ) {
        self.steps.push(Step {
            device: self.device,
            interface,
            name,
            action,
            reason: reason.into(),
            source: self.wanted.sources.get(key).cloned(),
        });
    }

    pub(super) fn problem(&mut self, message: impl Into<String>) {
        self.problems.push(Problem {
            reason: Reason::ConfigurationFailed,
            message: message.into(),
        });
    }
}
