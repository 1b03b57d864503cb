//! What takes back everything that the agent did: from its journal and a look at the kernel to undos
//! and renames, a pure function as the plan is.
//!
//! A thing is taken back only while it is as the agent left it. What others have changed since is
//! theirs, and is left.

use std::collections::BTreeSet;
use std::fmt::Display;

use device_attributes::{InterfaceAddress, InterfaceName};

use super::names::name_after;
use super::{Action, Step, Sysctl, Transaction, rename};
use crate::apply::Undo;
use crate::journal::{Entry, Ledger, Thing};
use crate::listing::listing;
use crate::observe::{Interface, Observation};
use crate::routing::Route;

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
    let mut alternative_names: Vec<(Step, &Interface)> = Vec::new();
    for entry in ledger.entries().rev() {
        let index = entry.first.interface;
        let mut interfaces = observation.interfaces.iter();
        let Some(interface) = interfaces.find(|interface| interface.index == index) else {
            continue;
        };
        match back(entry, interface, ledger, observation) {
            Back::Already => continue,
            Back::Undo(undo) => reversal.undos.push(undo),
            Back::Rename(name) => renames.push((entry, interface, name)),
            Back::AlternativeName(step) => alternative_names.push((step, interface)),
            Back::Left(why) => reversal.left.push(why),
        }
        reversal.open.push(entry.thing.clone());
    }
    let wanted = renames.iter().enumerate();
    let wanted = wanted.map(|(device, (_, interface, to))| rename::Rename {
        device,
        interface,
        to,
        source: None,
    });
    let (transactions, problems) = rename::order(wanted.collect(), observation);
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
    for (step, name) in alternative_names {
        let step = Step {
            name: name_after(&reversal.renames, name),
            reason: "it had that name".to_owned(),
            ..step
        };
        reversal.renames.push(Transaction { steps: vec![step] });
    }
    reversal
}

/// What becomes of one thing.
enum Back {
    /// It is as it was.
    Already,
    Undo(Undo),
    Rename(InterfaceName),
    AlternativeName(Step),
    Left(String),
}

fn back(entry: &Entry, interface: &Interface, ledger: &Ledger, observation: &Observation) -> Back {
    let (first, last) = (&entry.first, entry.last());
    let name = &interface.name;
    let undo_where = |is_so: bool| {
        if is_so {
            Back::Undo(undo(first, name))
        } else {
            Back::Already
        }
    };
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
        (Action::AddAlternativeName { alternative }, _) => {
            undo_where(interface.alternative_names.contains(alternative))
        }
        (Action::RemoveAlternativeName { alternative }, _) => {
            if interface.alternative_names.contains(alternative) {
                Back::Already
            } else {
                Back::AlternativeName(Step {
                    action: Action::AddAlternativeName {
                        alternative: alternative.clone(),
                    },
                    ..first.clone()
                })
            }
        }
        (Action::SetMtu { from, .. }, Action::SetMtu { from: before, to }) => {
            let value = Value::new("MTU", interface.mtu, *from, *before, *to);
            value.back(name, || undo(first, name))
        }
        (Action::SetMacAddress { from, .. }, Action::SetMacAddress { from: before, to }) => {
            match interface.mac_address {
                Some(mac) => {
                    let value = Value::new("MAC address", mac, *from, *before, *to);
                    value.back(name, || undo(first, name))
                }
                None => Back::Already,
            }
        }
        (
            Action::SetSysctl { sysctl, from, .. },
            Action::SetSysctl {
                from: before, to, ..
            },
        ) => {
            let (what, now) = match sysctl {
                Sysctl::RpFilter => ("rp_filter", interface.rp_filter),
                Sysctl::AcceptRa => ("accept_ra", interface.accept_ra),
            };
            match now {
                Some(now) => {
                    let value = Value::new(what, now, *from, *before, *to);
                    value.back(name, || undo(first, name))
                }
                None => Back::Already,
            }
        }
        (Action::SetUp, _) => match (interface.up, in_use(interface, ledger, observation)) {
            (false, _) => Back::Already,
            (true, None) => Back::Undo(undo(first, name)),
            (true, Some(use_)) => Back::Left(format!("{name} stays up: {use_}")),
        },
        (Action::AddAddress { address }, _) => {
            let mut addresses = interface.addresses.iter();
            let has = addresses.any(|other| other == address)
                || interface.duplicate_addresses.contains(address);
            undo_where(has)
        }
        (Action::AddRoute { route }, _) => undo_where(observation.routes.contains(route)),
        (Action::AddRule { rule }, _) => undo_where(observation.rules.contains(rule)),
        // A route or rule of the agent's own was no part of what was before it. The steps of an entry
        // are of one kind.
        (
            Action::RemoveRoute { .. }
            | Action::RemoveRule { .. }
            | Action::Rename { .. }
            | Action::SetMtu { .. }
            | Action::SetMacAddress { .. }
            | Action::SetSysctl { .. },
            _,
        ) => Back::Already,
    }
}

/// A value that an interface has one of.
struct Value<T> {
    what: &'static str,
    now: T,
    first: T,
    before: T,
    last: T,
}

impl<T: PartialEq + Display> Value<T> {
    fn new(what: &'static str, now: T, first: T, before: T, last: T) -> Self {
        Self {
            what,
            now,
            first,
            before,
            last,
        }
    }

    fn back(self, name: &str, undo: impl FnOnce() -> Undo) -> Back {
        if self.now == self.first {
            Back::Already
        } else if self.now == self.last || self.now == self.before {
            Back::Undo(undo())
        } else {
            let Self {
                what,
                now,
                first,
                last,
                ..
            } = self;
            Back::Left(format!(
                "{name} keeps its {what} of {now}: others set it, after it was set from {first} to \
                 {last}"
            ))
        }
    }
}

/// Whether it is the MTU of an interface that is made on another.
fn is_upper_mtu(undo: &Undo, observation: &Observation) -> bool {
    let Undo::SetMtu { interface, .. } = undo else {
        return false;
    };
    let mut interfaces = observation.interfaces.iter();
    interfaces.any(|other| other.index == *interface && other.lower.is_some())
}

/// What takes a step back, in the words of the name that the interface has now.
fn undo(step: &Step, name: &str) -> Undo {
    Undo::of(&Step {
        name: name.to_owned(),
        ..step.clone()
    })
}

/// What others would lose if an interface that the agent set up were set down.
fn in_use(interface: &Interface, ledger: &Ledger, observation: &Observation) -> Option<String> {
    if interface.controller.is_some() {
        return Some("others made it part of a bond or a bridge".to_owned());
    }
    let mut interfaces = observation.interfaces.iter();
    if let Some(upper) = interfaces.find(|upper| upper.lower == Some(interface.index)) {
        return Some(format!("others made {} on it", upper.name));
    }
    let mut routes = observation.routes.iter();
    let is_others = |route: &&Route| {
        route.interface == Some(interface.index) && !route.is_own() && !route.is_automatic()
    };
    if let Some(route) = routes.find(is_others) {
        return Some(format!("it has the {route} of others"));
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
