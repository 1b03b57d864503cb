//! What takes back everything that the agent did: from its journal and a look at the kernel to undos
//! and renames, a pure function as the plan is.
//!
//! A thing is taken back only while it is as the agent left it. What others have changed since is
//! theirs, and is left.

mod back;
pub(super) mod pins;

use device_attributes::InterfaceName;

use super::names::{name_after, new_names};
use super::{Step, Transaction, rename};
use crate::apply::Undo;
use crate::journal::{Entry, Ledger, Thing};
use crate::observe::{Interface, Observation};
use back::{Back, back};
use pins::pin_back;

/// What takes everything back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reversal {
    /// What is done first, in this order.
    pub undos: Vec<Undo>,
    /// The renames after it.
    pub renames: Vec<Transaction>,
    /// What is left as it is, and why, a sentence each.
    pub left: Vec<String>,
    /// The things that are not as they were before the agent.
    pub open: Vec<Thing>,
}

impl Reversal {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.undos.is_empty() && self.renames.is_empty()
    }
}

/// Plans what takes back all that a ledger has. An interface that is gone took its changes with it, but
/// for rules and for routes that lead nowhere.
pub fn reversal(ledger: &Ledger, observation: &Observation) -> Reversal {
    let mut reversal = Reversal::default();
    let mut renames: Vec<(&Entry, &Interface, InterfaceName)> = Vec::new();
    let mut alternative_names: Vec<(Step, &Interface)> = Vec::new();
    for entry in ledger.entries().rev() {
        let index = entry.first.interface;
        let found = observation.interface(index);
        let becomes = match (pin_back(entry, found, observation), found) {
            (Some(back), _) => back,
            (None, Some(interface)) => back(entry, interface, ledger, observation),
            (None, None) => {
                back::without_interface(entry, observation).map_or(Back::Already, Back::Undo)
            }
        };
        match becomes {
            Back::Already => continue,
            Back::Undo(undo) => reversal.undos.push(undo),
            Back::Rename(name) => {
                renames.extend(found.map(|interface| (entry, interface, name)));
            }
            Back::AlternativeName(step) => {
                alternative_names.extend(found.map(|interface| (step, interface)));
            }
            Back::Left(why) => reversal.left.push(why),
            Back::NotLookedAt => {}
        }
        reversal.open.push(entry.thing.clone());
    }
    let by_then = without_own_alternative_names(&reversal.undos, observation);
    let wanted = renames.iter().enumerate();
    let wanted = wanted.map(|(device, (_, interface, to))| rename::Rename {
        device,
        interface: by_then.interface(interface.index).unwrap_or(interface),
        to,
        reason: "it had that name".to_owned(),
        source: None,
    });
    let (transactions, problems) = rename::order(wanted.collect(), &by_then);
    let problems = problems.into_iter().map(|(_, problem)| problem.message);
    reversal.left.extend(problems);
    reversal.renames = transactions;
    // What an interface is built on grows before it.
    reversal
        .undos
        .sort_by_key(|undo| is_upper_mtu(undo, observation));
    for step in reversal.renames.iter_mut().flat_map(|it| &mut it.steps) {
        "it had that name".clone_into(&mut step.reason);
    }
    // Once it is no longer an interface's own.
    let new_names = new_names(&reversal.renames);
    for (step, interface) in alternative_names {
        let step = Step {
            name: name_after(&new_names, interface),
            reason: "it had that name".to_owned(),
            ..step
        };
        reversal.renames.push(Transaction { steps: vec![step] });
    }
    reversal
}

/// What is there once the undos are made, as far as names go: an interface's own name of before may be
/// the alternative name that the agent gave it.
fn without_own_alternative_names(undos: &[Undo], observation: &Observation) -> Observation {
    let mut by_then = observation.clone();
    for undo in undos {
        if let Undo::RemoveAlternativeName {
            interface: index,
            alternative,
            ..
        } = undo
        {
            let interfaces = by_then.interfaces.iter_mut();
            for interface in interfaces.filter(|interface| interface.index == *index) {
                interface
                    .alternative_names
                    .retain(|name| name != alternative);
            }
        }
    }
    by_then
}

/// Whether it is the MTU of an interface that is made on another.
fn is_upper_mtu(undo: &Undo, observation: &Observation) -> bool {
    let Undo::SetMtu { interface, .. } = undo else {
        return false;
    };
    let mut interfaces = observation.interfaces.iter();
    interfaces.any(|other| other.index == *interface && other.lower.is_some())
}

#[cfg(test)]
mod tests;
