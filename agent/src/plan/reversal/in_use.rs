//! Who would lose something if an interface that the agent set up were set down, or had its former MTU or MAC address.

use std::collections::BTreeSet;

use device_attributes::InterfaceAddress;

use crate::journal::{Ledger, Thing};
use crate::listing::listing;
use crate::observe::{Interface, Observation};
use crate::plan::controller::controller;
use crate::plan::{Action, mtu};
use crate::routing::Route;

/// What others would lose if an interface that the agent set up were set down.
pub(super) fn in_use(
    interface: &Interface,
    ledger: &Ledger,
    observation: &Observation,
) -> Option<String> {
    if let Some(index) = interface.controller {
        let controller = observation.interface(index);
        let name = controller.map_or("another interface", |it| it.name.as_str());
        return Some(format!("others made it part of {name}"));
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
    let addresses = interface.addresses.iter();
    let others =
        addresses.filter(|address| !own.contains(address) && !address.is_ipv6_link_local());
    let others = listing(others);
    (!others.is_empty()).then(|| format!("it has {others} of others"))
}

/// Why a port keeps the value that the agent gave it.
pub(super) fn kept_by_controller(
    action: &Action,
    interface: &Interface,
    observation: &Observation,
) -> Option<String> {
    let controller = controller(interface, observation)?;
    let (name, other) = (&interface.name, &controller.name);
    match action {
        Action::SetMtu { from, .. } if mtu::is_shared(controller) && controller.mtu != *from => {
            Some(format!(
                "{name} keeps its MTU {}: it is a port of {other}, which has one MTU with its ports",
                interface.mtu
            ))
        }
        Action::SetMacAddress { to, .. } => Some(format!(
            "{name} keeps its MAC address {to}: it is a port of {other}, which may have it of it"
        )),
        _ => None,
    }
}
