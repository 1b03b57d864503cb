//! What becomes of one thing that the agent changed.

use std::fmt::Display;

use device_attributes::InterfaceName;

use crate::apply::Undo;
use crate::journal::{Entry, Ledger};
use crate::observe::{Interface, Observation};
use crate::plan::in_use::{kept_by_controller, mtu_in_use, needed_addresses, own_addresses};
use crate::plan::set_down::in_use;
use crate::plan::{Action, Step, Sysctl};
use crate::routing::{Route, RouteKind};

/// What becomes of one thing.
pub(super) enum Back {
    /// It is as it was.
    Already,
    Undo(Undo),
    Rename(InterfaceName),
    /// Once the names are what they were.
    AlternativeName(Step),
    Left(String),
    /// It is not known how it is now: this was no look at it.
    NotLookedAt,
}

/// What becomes of the thing of an entry; `interface` is the one whose it is.
pub(super) fn back(
    entry: &Entry,
    interface: &Interface,
    ledger: &Ledger,
    observation: &Observation,
) -> Back {
    let first = &entry.first;
    let name = &interface.name;
    let undo_where = |is_so: bool| {
        if is_so {
            Back::Undo(undo(first, name))
        } else {
            Back::Already
        }
    };
    match &first.action {
        Action::Rename { .. }
        | Action::SetMtu { .. }
        | Action::SetMacAddress { .. }
        | Action::SetSysctl { .. } => match value_back(entry, interface, ledger, observation) {
            Back::Undo(undo) => match kept_by_controller(&first.action, interface, observation) {
                Some(why) => Back::Left(why),
                None => Back::Undo(undo),
            },
            other => other,
        },
        Action::AddAlternativeName { alternative } => {
            undo_where(interface.alternative_names.contains(alternative))
        }
        Action::RemoveAlternativeName { alternative } => {
            if interface.alternative_names.contains(alternative) {
                Back::Already
            } else {
                let alternative = alternative.clone();
                Back::AlternativeName(Step {
                    action: Action::AddAlternativeName { alternative },
                    ..first.clone()
                })
            }
        }
        Action::SetUp(_) => match (interface.up, in_use(entry, interface, ledger, observation)) {
            (false, _) => Back::Already,
            (true, None) => Back::Undo(undo(first, name)),
            (true, Some(use_)) => Back::Left(format!("{name} stays up: {use_}")),
        },
        Action::AddAddress { address } => {
            let own = own_addresses(interface, ledger);
            match needed_addresses(interface, &own, &[], observation).get(address) {
                Some(why) => Back::Left(format!("{name} keeps {address}: {why}")),
                None => undo_where(own.contains(address)),
            }
        }
        Action::AddRoute { route } => {
            route_back(first, route, name, observation).map_or(Back::Already, Back::Undo)
        }
        Action::AddRule { rule } => undo_where(observation.rules.contains(rule)),
        // An address, route or rule of the agent's own was no part of what was before it.
        Action::RemoveAddress { .. } | Action::RemoveRoute { .. } | Action::RemoveRule { .. } => {
            Back::Already
        }
        Action::Pin(_) => Back::NotLookedAt,
    }
}

/// What takes back what outlives its interface; none when it is not there any more.
pub(super) fn without_interface(entry: &Entry, observation: &Observation) -> Option<Undo> {
    let first = &entry.first;
    match &first.action {
        Action::AddRule { rule } if observation.rules.contains(rule) => {
            Some(undo(first, &first.name))
        }
        Action::AddRoute { route } if route.kind != RouteKind::Unicast => {
            route_back(first, route, &first.name, observation)
        }
        _ => None,
    }
}

/// A route is taken back as the kernel has it, which may have given it a metric.
fn route_back(first: &Step, route: &Route, name: &str, observation: &Observation) -> Option<Undo> {
    let mut routes = observation.routes.iter();
    let route = routes.find(|other| other.is_own() && route.is_met_by(other))?;
    let route = route.clone();
    let step = Step {
        action: Action::AddRoute { route },
        ..first.clone()
    };
    Some(undo(&step, name))
}

/// What becomes of something that an interface has one of.
fn value_back(
    entry: &Entry,
    interface: &Interface,
    ledger: &Ledger,
    observation: &Observation,
) -> Back {
    let (first, last) = (&entry.first, entry.last());
    let name = &interface.name;
    let undo = || Back::Undo(undo(first, name));
    match (&first.action, &last.action) {
        (Action::Rename { .. }, Action::Rename { to }) => {
            let value = Value {
                what: "name",
                now: name,
                first: &first.name,
                before: &last.name,
                last: to,
            };
            value.back(name, || match first.name.parse() {
                Ok(name) => Back::Rename(name),
                Err(error) => Back::Left(format!("{name} keeps its name: {error}")),
            })
        }
        (
            Action::SetMtu { from, .. },
            Action::SetMtu {
                from: before,
                to,
                ipv6,
            },
        ) => {
            let value = Value {
                what: "MTU",
                now: &interface.mtu,
                first: from,
                before,
                last: to,
            };
            // The last step knows what IPv6 was set to, whichever took it away.
            value.back(name, || {
                match mtu_in_use(*from, interface, ledger, observation) {
                    Some(why) => {
                        let now = interface.mtu;
                        Back::Left(format!("{name} keeps its MTU of {now}: {why}"))
                    }
                    None => Back::Undo(Undo::SetMtu {
                        interface: first.interface,
                        name: name.clone(),
                        to: *from,
                        ipv6: ipv6.clone(),
                    }),
                }
            })
        }
        (Action::SetMacAddress { from, .. }, Action::SetMacAddress { from: before, to }) => {
            let value = |now| Value {
                what: "MAC address",
                now,
                first: from,
                before,
                last: to,
            };
            let now = interface.mac_address.as_ref();
            now.map_or(Back::Already, |now| value(now).back(name, undo))
        }
        (
            Action::SetSysctl { sysctl, from, .. },
            Action::SetSysctl {
                from: before, to, ..
            },
        ) => {
            let (what, now) = match sysctl {
                Sysctl::RpFilter => ("rp_filter", &interface.rp_filter),
                Sysctl::AcceptRa => ("accept_ra", &interface.accept_ra),
            };
            let value = |now| Value {
                what,
                now,
                first: from,
                before,
                last: to,
            };
            let now = now.as_ref();
            now.map_or(Back::Already, |now| value(now).back(name, undo))
        }
        // The steps of an entry are of one kind.
        _ => Back::Already,
    }
}

/// A value that an interface has one of.
struct Value<'a, T> {
    what: &'static str,
    now: &'a T,
    first: &'a T,
    before: &'a T,
    last: &'a T,
}

impl<T: PartialEq + Display> Value<'_, T> {
    fn back(self, name: &str, back: impl FnOnce() -> Back) -> Back {
        let Self {
            what,
            now,
            first,
            before,
            last,
        } = self;
        if now == first {
            Back::Already
        } else if now == last || now == before {
            back()
        } else {
            Back::Left(format!(
                "{name} keeps its {what} {now}: others set it, after it was set from {first} to {last}"
            ))
        }
    }
}

/// What takes a step back, in the words of the name that the interface has now.
fn undo(step: &Step, name: &str) -> Undo {
    Undo::of(&Step {
        name: name.to_owned(),
        ..step.clone()
    })
}
