//! What the agent made, by its journal, and nobody wants any more: it is taken away, and a value is put
//! back to what it was. What others have changed since is theirs.
//!
//! A name stays: an interface always has one, and no other is better. So does a MAC address, by which
//! the device is known, and that the interface is up.

use std::collections::{BTreeMap, BTreeSet};

use device_attributes::InterfaceAddress;

use super::draft::Draft;
use super::names::NewNames;
use super::step::{Action, Sysctl, Transaction};
use super::{Wanted, addresses, controller, in_use, mtu, names, sysctls};
use crate::journal::{Entry, Thing};
use crate::observe::{Interface, Ipv6Settings, Observation};

/// Why something is removed.
pub(super) const ADDED: &str = "the agent added it, and it is no longer wanted";

/// Why a value is put back.
pub(super) fn was(before: impl std::fmt::Display) -> String {
    format!("it was {before} before the agent set it, and nothing is wanted of it any more")
}

/// The addresses that the agent added to an interface, which has them, and that are wanted no more: neither those of a
/// port that others have given to what it is a port of. And why others of them stay.
pub(super) fn addresses_of(draft: &Draft<'_>) -> (BTreeSet<InterfaceAddress>, Vec<String>) {
    let (wanted, interface, observation) = (draft.wanted, draft.interface, draft.observation);
    let name = draft.name;
    let own = in_use::own_addresses(interface, &observation.journal);
    let holder = |address: &InterfaceAddress| {
        let is_wanted = wanted.addresses.contains(address);
        is_wanted.then(|| controller::holder(address.ip(), interface, observation))
    };
    let is_leaving =
        |address: &InterfaceAddress| holder(address).is_none_or(|holder| holder.is_some());
    let mut leaving: BTreeSet<InterfaceAddress> = own.into_iter().filter(is_leaving).collect();
    let coming = draft.addresses().copied();
    // A port is given none.
    let coming: Vec<InterfaceAddress> = coming.filter(|_| draft.controller.is_none()).collect();
    let needed = in_use::needed_addresses(interface, &leaving, &coming, observation);
    let left = needed.into_iter().map(|(address, why)| {
        leaving.remove(&address);
        let instead = holder(&address).flatten().map_or_else(
            || "which is wanted no more".to_owned(),
            |holder| format!("which {} has now", holder.name),
        );
        format!("{name} keeps {address}, {instead}: {why}")
    });
    let left = left.collect();
    (leaving, left)
}

/// Whether something may have to be taken from a device that the routes of others need: then all routes are to be looked
/// at. Which device an interface is, is not known yet.
pub fn may_cost_routes(wanted: &[Wanted], observation: &Observation) -> bool {
    let mut of_address: BTreeMap<InterfaceAddress, Vec<&Wanted>> = BTreeMap::new();
    for wanted in wanted {
        for address in &wanted.addresses {
            of_address.entry(*address).or_default().push(wanted);
        }
    }
    let is_wanted = |interface: &Interface, address: &InterfaceAddress| {
        let mut wanted = of_address.get(address).into_iter().flatten();
        wanted.any(|wanted| wanted.is_about(interface))
    };
    if (observation.journal.without_ipv6().next()).is_some() {
        return true;
    }
    let mut changed = observation.journal.interfaces();
    changed.any(|index| {
        observation.interface(index).is_some_and(|interface| {
            let mut own = in_use::own_addresses(interface, &observation.journal).into_iter();
            own.any(|address| {
                !is_wanted(interface, &address)
                    || controller::holder(address.ip(), interface, observation).is_some()
            })
        })
    })
}

/// The alternative names that the agent added to an interface and that are wanted no more.
pub(super) fn alternative_names(
    wanted: &Wanted,
    interface: &Interface,
    observation: &Observation,
) -> Vec<String> {
    let entries = observation.journal.of_interface(interface.index).iter();
    let added = entries.filter_map(|entry| match &entry.first.action {
        Action::AddAlternativeName { alternative } => Some(alternative.clone()),
        _ => None,
    });
    let is_wanted = |name: &str| {
        let mut names = wanted.alternative_names.iter();
        names.any(|other| other.as_str() == name)
            || wanted.name.as_ref().is_some_and(|own| own.as_str() == name)
    };
    added
        .filter(|name| interface.alternative_names.contains(name) && !is_wanted(name))
        .collect()
}

/// The value that a sysctl had before the agent, where it still has the agent's.
pub(super) fn sysctl_before(draft: &Draft<'_>, sysctl: Sysctl, now: u32) -> Option<u32> {
    let entry = entry(draft, &Thing::Sysctl(draft.interface.index, sysctl))?;
    match (&entry.first.action, &entry.last().action) {
        (Action::SetSysctl { from: first, .. }, Action::SetSysctl { from, to, .. }) => {
            before(*first, *from, *to, now)
        }
        _ => None,
    }
}

/// The MTU that an interface had before the agent, where it still has the agent's.
pub(super) fn mtu_before(interface: &Interface, observation: &Observation) -> Option<u32> {
    let entry = mtu_entry(interface, observation)?;
    match (&entry.first.action, &entry.last().action) {
        (Action::SetMtu { from: first, .. }, Action::SetMtu { from, to, .. }) => {
            before(*first, *from, *to, interface.mtu)
        }
        _ => None,
    }
}

/// What IPv6 of an interface was set to before the agent gave it an MTU that is too small for IPv6.
pub(super) fn ipv6_before(
    interface: &Interface,
    observation: &Observation,
) -> Option<Ipv6Settings> {
    match &mtu_entry(interface, observation)?.last().action {
        Action::SetMtu { ipv6, .. } => ipv6.clone(),
        _ => None,
    }
}

fn mtu_entry<'a>(interface: &Interface, observation: &'a Observation) -> Option<&'a Entry> {
    let mut entries = observation.journal.of_interface(interface.index).iter();
    entries.find(|entry| entry.thing == Thing::Mtu(interface.index))
}

/// The last step may not have been made.
fn before(first: u32, from: u32, to: u32, now: u32) -> Option<u32> {
    (now != first && (now == to || now == from)).then_some(first)
}

fn entries<'a>(draft: &Draft<'a>) -> impl Iterator<Item = &'a Entry> + use<'a> {
    let journal = &draft.observation.journal;
    journal.of_interface(draft.interface.index).iter()
}

fn entry<'a>(draft: &Draft<'a>, thing: &Thing) -> Option<&'a Entry> {
    entries(draft).find(|entry| entry.thing == *thing)
}

/// Takes back what was made on interfaces that belong to no device any more. Each is a transaction of
/// its own, of the first device by the interface's index, which stands for what is left of them too.
pub(super) fn of_no_device(
    drafts: &mut [Draft<'_>],
    new_names: &NewNames,
    observation: &Observation,
) -> Vec<Transaction> {
    let mut transactions = Vec::new();
    let mut left = Vec::new();
    let Some(first) = drafts.iter().min_by_key(|draft| draft.interface.index) else {
        return transactions;
    };
    let nothing = Wanted::default();
    let devices = drafts.iter().map(|draft| draft.interface.index);
    let devices: BTreeSet<u32> = devices.collect();
    let changed: BTreeSet<u32> = observation.journal.interfaces().collect();
    let of_none = changed.iter().copied().filter(|index| {
        // What is made on another is taken back with that.
        let mut lowers = lowers(*index, observation);
        !devices.contains(index)
            && !lowers.any(|lower| devices.contains(&lower) || changed.contains(&lower))
    });
    let of_none = of_none.filter_map(|index| observation.interface(index));
    for interface in of_none {
        let name = names::name_after(new_names, interface);
        let mut draft = Draft::new(first.device, &nothing, interface, observation, &name);
        names::remove_alternative_names(&mut draft);
        mtu::mtu(&mut draft);
        sysctls::sysctls(&mut draft, None);
        addresses::remove_addresses(&mut draft);
        let steps = draft.steps;
        left.extend(draft.left);
        if !steps.is_empty() {
            transactions.push(Transaction { steps });
        }
    }
    if let Some(first) = drafts.iter_mut().min_by_key(|draft| draft.interface.index) {
        first.left.extend(left);
    }
    transactions
}

/// The interfaces that one is made on, the next first: a VLAN's MTU goes with that of its device.
fn lowers(index: u32, observation: &Observation) -> impl Iterator<Item = u32> {
    let lower = |index| observation.interface(index).and_then(|it| it.lower);
    // Each is made on one at most; a circle ends as well.
    let all = std::iter::successors(lower(index), move |below| lower(*below));
    all.take(observation.interfaces.len())
        .take_while(move |below| *below != index)
}
