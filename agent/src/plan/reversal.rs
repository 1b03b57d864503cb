//! What takes back everything that the agent did: from its journal and a look at the kernel to undos
//! and renames, a pure function as the plan is.
//!
//! A thing is taken back only while it is as the agent left it. What others have changed since is
//! theirs, and is left.

use std::collections::BTreeSet;

use device_attributes::{InterfaceAddress, InterfaceName};

use super::{Action, Step, Transaction, rename};
use crate::apply::Undo;
use crate::journal::{Entry, Ledger, Thing};
use crate::listing::listing;
use crate::observe::{Interface, Observation};

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

/// Plans what takes back all that a ledger has. An interface that is gone took its changes with it.
pub fn reversal(ledger: &Ledger, observation: &Observation) -> Reversal {
    let mut reversal = Reversal::default();
    let mut renames: Vec<(&Entry, &Interface, InterfaceName)> = Vec::new();
    for entry in ledger.entries().rev() {
        let index = entry.first.interface;
        let mut interfaces = observation.interfaces.iter();
        let Some(interface) = interfaces.find(|interface| interface.index == index) else {
            continue;
        };
        match back(entry, interface, ledger) {
            Back::Already => continue,
            Back::Undo(undo) => reversal.undos.push(undo),
            Back::Rename(name) => renames.push((entry, interface, name)),
            Back::Left(why) => reversal.left.push(why),
        }
        reversal.open.push(entry.thing.clone());
    }
    let wanted = renames.iter().enumerate();
    let wanted = wanted.map(|(device, (_, interface, to))| rename::Rename {
        device,
        interface,
        to,
    });
    let (transactions, problems) = rename::order(wanted.collect(), observation);
    let problems = problems.into_iter().map(|(_, problem)| problem.message);
    reversal.left.extend(problems);
    reversal.renames = transactions;
    for step in reversal.renames.iter_mut().flat_map(|it| &mut it.steps) {
        "it had that name".clone_into(&mut step.reason);
    }
    reversal
}

/// What becomes of one thing.
enum Back {
    /// It is as it was.
    Already,
    Undo(Undo),
    Rename(InterfaceName),
    Left(String),
}

fn back(entry: &Entry, interface: &Interface, ledger: &Ledger) -> Back {
    let (first, last) = (&entry.first, entry.last());
    let name = &interface.name;
    match (&first.action, &last.action) {
        (Action::Rename { .. }, Action::Rename { to }) => {
            if *name == first.name {
                Back::Already
            } else if name == to || *name == last.name {
                match first.name.parse() {
                    Ok(name) => Back::Rename(name),
                    Err(error) => Back::Left(format!("{name} keeps its name: {error}")),
                }
            } else {
                let first = &first.name;
                Back::Left(format!(
                    "{name} keeps its name: others gave it that, after it was renamed from {first} \
                     to {to}"
                ))
            }
        }
        (Action::SetMtu { from, .. }, Action::SetMtu { from: before, to }) => {
            let mtu = interface.mtu;
            if mtu == *from {
                Back::Already
            } else if mtu == *to || mtu == *before {
                Back::Undo(undo(first, name))
            } else {
                Back::Left(format!(
                    "{name} keeps its MTU of {mtu}: others set it, after it was set from {from} to \
                     {to}"
                ))
            }
        }
        (Action::SetUp, _) => match (interface.up, in_use(interface, ledger)) {
            (false, _) => Back::Already,
            (true, None) => Back::Undo(undo(first, name)),
            (true, Some(use_)) => Back::Left(format!("{name} stays up: {use_}")),
        },
        (Action::AddAddress { address }, _) => {
            let mut addresses = interface.addresses.iter();
            let has = addresses.any(|other| other == address)
                || interface.duplicate_addresses.contains(address);
            if has {
                Back::Undo(undo(first, name))
            } else {
                Back::Already
            }
        }
        // The steps of an entry are of one kind.
        (Action::Rename { .. } | Action::SetMtu { .. }, _) => Back::Already,
    }
}

/// What takes a step back, in the words of the name that the interface has now.
fn undo(step: &Step, name: &str) -> Undo {
    Undo::of(&Step {
        name: name.to_owned(),
        ..step.clone()
    })
}

/// What others would lose if an interface that the agent set up were set down.
fn in_use(interface: &Interface, ledger: &Ledger) -> Option<String> {
    if interface.controller.is_some() {
        return Some("others made it part of a bond or a bridge".to_owned());
    }
    let own: BTreeSet<InterfaceAddress> = ledger
        .entries()
        .filter_map(|entry| match entry.thing {
            Thing::Address(index, address) if index == interface.index => Some(address),
            _ => None,
        })
        .collect();
    // The kernel makes one of its own of this range for every interface that is up.
    let is_link_local = |address: &&InterfaceAddress| match address.ip() {
        std::net::IpAddr::V6(ip) => ip.is_unicast_link_local(),
        std::net::IpAddr::V4(_) => false,
    };
    let addresses = interface.addresses.iter();
    let others = addresses.filter(|address| !own.contains(address) && !is_link_local(address));
    let others = listing(others);
    (!others.is_empty()).then(|| format!("it has {others} of others"))
}

#[cfg(test)]
mod tests;
