//! Which interfaces the policy's `set-mac` gives which MAC address.
//!
//! Virtual functions may come with random MACs, or with one another's. A MAC is given only where it is
//! not on another interface then: what has it now is itself given another one.

use std::collections::{BTreeMap, BTreeSet};

use device_attributes::MacAddress;

use super::Wanted;
use super::candidates::Candidates;
use super::controller::controller;
use crate::observe::{Interface, Observation};

/// The MAC addresses that interfaces are given, by the interface's index; some have theirs already.
#[derive(Debug, Clone, Default)]
pub(super) struct GivenMacs(BTreeMap<u32, MacAddress>);

impl GivenMacs {
    pub(super) fn of(
        wanted: &[Wanted],
        candidates: &Candidates<'_>,
        observation: &Observation,
    ) -> Self {
        let mut given = BTreeMap::new();
        let mut claimed_twice = BTreeSet::new();
        for wanted in wanted.iter().filter(|it| it.set_mac && !it.hands_off) {
            let (Some(mac), Some(address)) = (wanted.mac_address, wanted.guest_pci_address) else {
                continue;
            };
            if let [interface] = candidates.on_function(address)
                // A bond's port has the bond's MAC for as long as it is one, and a bridge one of its ports'.
                && controller(interface, observation).is_none()
                && given.insert(interface.index, mac).is_some()
            {
                claimed_twice.insert(interface.index);
            }
        }
        given.retain(|index, _| !claimed_twice.contains(index));
        let mut given = Self(given);
        loop {
            let held: Vec<u32> = given
                .0
                .iter()
                .filter(|(index, mac)| !given.is_free_for(**index, **mac, candidates))
                .map(|(index, _)| *index)
                .collect();
            if held.is_empty() {
                return given;
            }
            given.0.retain(|index, _| !held.contains(index));
        }
    }

    /// Whether an interface is given this MAC, or has it by that.
    pub(super) fn has(&self, interface: &Interface, mac: MacAddress) -> bool {
        self.0.get(&interface.index) == Some(&mac)
    }

    /// Whether no other interface has the MAC once all are given theirs. What was made with it and has
    /// been given another does not have it.
    fn is_free_for(&self, index: u32, mac: MacAddress, candidates: &Candidates<'_>) -> bool {
        let mut holders = candidates.with_mac(mac).into_iter();
        holders.all(|holder| {
            let others = self.0.get(&holder.index).filter(|other| **other != mac);
            holder.index == index || others.is_some()
        })
    }
}
