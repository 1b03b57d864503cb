//! What one interface needs beside its name, while it is put together: its steps so far, and what
//! stands in the way.

use std::collections::BTreeSet;
use std::net::IpAddr;

use device_attributes::report::Reason;
use device_attributes::{InterfaceAddress, MacAddress};

use super::{Action, Problem, Step, Wanted, controller, leftovers};
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
    /// What it is a port of.
    pub controller: Option<&'a Interface>,
    /// The table of the VRF that it is a member of.
    pub vrf_table: Option<u32>,
    /// The MAC address that the policy gives it, where it does.
    pub given_mac: Option<MacAddress>,
    /// Why it can have no IPv6; nothing when it can.
    pub without_ipv6: Option<String>,
    /// The wanted addresses that it cannot have, since another device wants them too.
    pub shared_addresses: BTreeSet<IpAddr>,
    /// The addresses that it has and is to lose.
    pub leaving: BTreeSet<InterfaceAddress>,
    pub steps: Vec<Step>,
    pub problems: Vec<Problem>,
    /// What stays although it is wanted no more, and why.
    pub left: Vec<String>,
}

impl<'a> Draft<'a> {
    /// One with nothing in it yet.
    pub(super) fn new(
        device: usize,
        wanted: &'a Wanted,
        interface: &'a Interface,
        observation: &'a Observation,
        name: &'a str,
    ) -> Self {
        let mut draft = Self {
            device,
            wanted,
            interface,
            observation,
            name,
            controller: controller::controller(interface, observation),
            vrf_table: controller::vrf_table(interface, observation),
            given_mac: None,
            without_ipv6: None,
            shared_addresses: BTreeSet::new(),
            leaving: BTreeSet::new(),
            steps: Vec::new(),
            problems: Vec::new(),
            left: Vec::new(),
        };
        draft.let_addresses_go();
        draft
    }

    /// Judges anew which addresses it loses: before there is anything else that stays.
    pub(super) fn let_addresses_go(&mut self) {
        (self.leaving, self.left) = leftovers::addresses_of(self);
    }

    /// The wanted addresses but those that another device wants too.
    pub(super) fn addresses(&self) -> impl Iterator<Item = &'a InterfaceAddress> {
        let addresses = self.wanted.addresses.iter();
        addresses.filter(|address| !self.shared_addresses.contains(&address.ip()))
    }

    /// The addresses that it has and keeps.
    pub(super) fn staying(&self) -> impl Iterator<Item = &'a InterfaceAddress> {
        let addresses = self.interface.addresses.iter();
        addresses.filter(|address| !self.leaving.contains(address))
    }

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
        self.problem_of(Reason::ConfigurationFailed, message);
    }

    /// A problem for another reason than that the kernel would refuse.
    pub(super) fn problem_of(&mut self, reason: Reason, message: impl Into<String>) {
        let message = message.into();
        self.problems.push(Problem { reason, message });
    }
}
