//! The alternative names of an interface, and who has which name once the renames are done.

use std::collections::{BTreeMap, BTreeSet};

use device_attributes::InterfaceName;

use super::draft::Draft;
use super::{Action, Transaction, Wanted, leftovers};
use crate::observe::{Interface, Observation};
use crate::policy::AlternativeName;

/// Who has which name once the renames are done, and who is to have it.
pub(super) struct Names<'a> {
    /// The index of the interface with the name, its own or an alternative one.
    held: BTreeMap<String, u32>,
    /// The places of the devices that a name is wanted for, as their own or as an alternative one.
    wanted: BTreeMap<&'a str, BTreeSet<usize>>,
}

impl<'a> Names<'a> {
    pub(super) fn after(
        new_names: &NewNames,
        observation: &Observation,
        found: &[(usize, &'a Wanted, &Interface)],
    ) -> Self {
        let mut held = BTreeMap::new();
        for interface in &observation.interfaces {
            held.insert(name_after(new_names, interface), interface.index);
            // One that is taken away from it becomes its own name.
            let alternative = interface.alternative_names.iter().cloned();
            held.extend(alternative.map(|name| (name, interface.index)));
        }
        let mut wanted: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        for (device, wish, _) in found {
            let own = wish.name.as_ref().map(InterfaceName::as_str);
            let alternative = wish.alternative_names.iter().map(AlternativeName::as_str);
            for name in own.into_iter().chain(alternative) {
                wanted.entry(name).or_default().insert(*device);
            }
        }
        Self { held, wanted }
    }
}

/// The names that interfaces are given, by the interface's index.
pub(super) type NewNames = BTreeMap<u32, String>;

/// The names that are had once the renames are done.
pub(super) fn new_names(renames: &[Transaction]) -> NewNames {
    let steps = renames.iter().flat_map(|transaction| &transaction.steps);
    let names = steps.filter_map(|step| match &step.action {
        Action::Rename { to } => Some((step.interface, to.clone())),
        _ => None,
    });
    // Of several the last is kept.
    names.collect()
}

/// The name that an interface has once the renames are done.
pub(super) fn name_after(new_names: &NewNames, interface: &Interface) -> String {
    let new = new_names.get(&interface.index);
    new.unwrap_or(&interface.name).clone()
}

/// Plans the removal of those that are wanted no more.
pub(super) fn remove_alternative_names(draft: &mut Draft<'_>) {
    for alternative in
        leftovers::alternative_names(draft.wanted, draft.interface, draft.observation)
    {
        let action = Action::RemoveAlternativeName { alternative };
        draft.step(action, "", leftovers::ADDED);
    }
}

/// Plans the alternative names.
pub(super) fn alternative_names(draft: &mut Draft<'_>, names: &Names<'_>) {
    remove_alternative_names(draft);
    let mut seen = BTreeSet::new();
    for name in &draft.wanted.alternative_names {
        if !seen.insert(name) {
            continue;
        }
        let name = name.as_str();
        let holder = names.held.get(name);
        if holder == Some(&draft.interface.index) {
            continue;
        }
        let rivals = names.wanted.get(name).map_or(0, BTreeSet::len);
        if holder.is_some() {
            let message = format!(
                "{} cannot have the alternative name {name}: another interface has that name",
                draft.name
            );
            draft.problem(message);
        } else if draft.observation.without_alternative_names {
            let message = format!(
                "{} cannot have the alternative name {name}: this kernel has none, which came with Linux 5.5",
                draft.name
            );
            draft.problem(message);
        } else if rivals > 1 {
            let message = format!("the name {name} is wanted for {rivals} devices");
            draft.problem(message);
        } else {
            let action = Action::AddAlternativeName {
                alternative: name.to_owned(),
            };
            let reason = "it does not have this name";
            draft.step(action, "alternative-names", reason);
        }
    }
}
