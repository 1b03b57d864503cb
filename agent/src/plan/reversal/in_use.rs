//! Who would lose something if an interface that the agent set up were set down.

use std::collections::BTreeSet;

use device_attributes::InterfaceAddress;

use crate::journal::{Ledger, Thing};
use crate::listing::listing;
use crate::observe::{Interface, Observation};
use crate::routing::Route;

/// What others would lose if an interface that the agent set up were set down.
pub(super) fn in_use(
    interface: &Interface,
    ledger: &Ledger,
    observation: &Observation,
) -> Option<String> {
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
    let addresses = interface.addresses.iter();
    let others =
        addresses.filter(|address| !own.contains(address) && !address.is_ipv6_link_local());
    let others = listing(others);
    (!others.is_empty()).then(|| format!("it has {others} of others"))
}
