//! Names that the agent gave, that nothing asks for any more where they are, and that another device is to have:
//! they make room first, so that one pass is enough for what changes hands.

use std::collections::{BTreeMap, BTreeSet};

use device_attributes::InterfaceName;

use super::{Action, Step, Transaction, Wanted, leftovers};
use crate::journal::Thing;
use crate::observe::{Interface, Observation};
use crate::policy::AlternativeName;

/// A device that was found: its place, what is wanted of it, and its interface.
pub(super) type Found<'a> = (usize, &'a Wanted, &'a Interface);

/// Takes away the alternative names that another device is to have, as its own name or as a further one, or an
/// interface that gets its former name back; a transaction each. `all_found` says that an interface that is no device's is nobody's.
pub(super) fn alternative_names(
    found: &[Found<'_>],
    former: &[Former],
    observation: &Observation,
    all_found: bool,
) -> Vec<Transaction> {
    let of_interface: BTreeMap<u32, &Found<'_>> = found.iter().map(|it| (it.2.index, it)).collect();
    let mut wishes: BTreeMap<&str, usize> = BTreeMap::new();
    for (place, wanted, _) in found {
        let own = wanted.name.as_ref().map(InterfaceName::as_str);
        let alternative = wanted.alternative_names.iter();
        for name in own
            .into_iter()
            .chain(alternative.map(AlternativeName::as_str))
        {
            wishes.entry(name).or_insert(*place);
        }
    }
    for former in former {
        wishes.entry(former.name.as_str()).or_insert(former.device);
    }
    let nothing = Wanted::default();
    let mut transactions = Vec::new();
    for index in observation.journal.interfaces() {
        let Some(interface) = observation.interface(index) else {
            continue;
        };
        let (owner, wanted) = match of_interface.get(&index) {
            Some((place, wanted, _)) => (Some(*place), *wanted),
            None if all_found => (None, &nothing),
            None => continue,
        };
        for alternative in leftovers::alternative_names(wanted, interface, observation) {
            let Some(wisher) = wishes.get(alternative.as_str()) else {
                continue;
            };
            let steps = vec![Step {
                device: owner.unwrap_or(*wisher),
                interface: index,
                name: interface.name.clone(),
                action: Action::RemoveAlternativeName { alternative },
                reason: "the agent added it, and another device is to have it".to_owned(),
                source: None,
            }];
            transactions.push(Transaction { steps });
        }
    }
    transactions
}

/// What is there once these alternative names are taken away.
pub(super) fn without(transactions: &[Transaction], observation: &Observation) -> Observation {
    let mut by_then = observation.clone();
    for step in transactions.iter().flat_map(|it| &it.steps) {
        let mut interfaces = by_then.interfaces.iter_mut();
        if let Action::RemoveAlternativeName { alternative } = &step.action
            && let Some(interface) = interfaces.find(|it| it.index == step.interface)
        {
            interface.alternative_names.retain(|it| it != alternative);
        }
    }
    by_then
}

/// An interface that is no device's any more, and the name that it had before the agent gave it one that another
/// device is to have now.
#[derive(Debug)]
pub(super) struct Former {
    /// The place of the device that is to have its name.
    pub device: usize,
    /// Its index.
    pub interface: u32,
    pub name: InterfaceName,
}

/// The interfaces that get their former names back.
pub(super) fn former_names(found: &[Found<'_>], observation: &Observation) -> Vec<Former> {
    let devices: BTreeSet<u32> = found.iter().map(|it| it.2.index).collect();
    let named: BTreeMap<&str, usize> = (found.iter())
        .filter_map(|(place, wanted, _)| Some((wanted.name.as_ref()?.as_str(), *place)))
        .collect();
    let mut given = BTreeSet::new();
    let journal = &observation.journal;
    let no_ones = journal
        .interfaces()
        .filter(|index| !devices.contains(index));
    let former = no_ones.filter_map(|index| {
        let interface = observation.interface(index)?;
        let device = *named.get(interface.name.as_str())?;
        let mut entries = journal.of_interface(index).iter();
        let entry = entries.find(|entry| entry.thing == Thing::Name(index))?;
        let is_given =
            matches!(&entry.last().action, Action::Rename { to } if *to == interface.name);
        let name: InterfaceName = entry.first.name.parse().ok().filter(|_| is_given)?;
        // One name for two: both keep what they have.
        if named.contains_key(name.as_str()) || !given.insert(name.clone()) {
            return None;
        }
        Some(Former {
            device,
            interface: index,
            name,
        })
    });
    former.collect()
}
