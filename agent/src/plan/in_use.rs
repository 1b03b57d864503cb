//! What others would lose if something of the agent's were taken back.

use std::collections::{BTreeMap, BTreeSet};

use device_attributes::InterfaceAddress;

use super::controller::controller;
use super::{Action, mtu};
use crate::journal::Ledger;
use crate::listing::listing;
use crate::observe::{IPV6_LEAST_MTU, Interface, Ipv6, Observation};
use crate::policy::Family;
use crate::routing::Route;

/// What others would lose if an interface that has the agent's MTU had its former one: what they made on it, and IPv6.
pub(super) fn mtu_in_use(
    mtu: u32,
    interface: &Interface,
    ledger: &Ledger,
    observation: &Observation,
) -> Option<String> {
    let above = above(interface, observation);
    let is_own = |upper: &Interface| {
        let mut entries = ledger.of_interface(upper.index).iter();
        entries
            .any(|entry| matches!(entry.first.action, Action::SetMtu { from, .. } if from <= mtu))
    };
    let larger = above.iter().find(|upper| upper.mtu > mtu && !is_own(upper));
    if let Some(upper) = larger {
        let (name, larger) = (&upper.name, upper.mtu);
        return Some(format!("others made {name} on it, with an MTU of {larger}"));
    }
    let mut shrinking = above.into_iter().chain([interface]);
    shrinking
        .find_map(|it| ipv6_of_others(mtu, it, ledger, observation))
        .or_else(|| ipv6_of_bridge(mtu, interface, observation))
}

/// What a bridge would lose if its port had an MTU: it takes the least of its ports' (`br_mtu_auto_adjust` in
/// `net/bridge/br_if.c`), and with one that is too small for it the kernel takes IPv6 away.
pub(super) fn ipv6_of_bridge(
    mtu: u32,
    interface: &Interface,
    observation: &Observation,
) -> Option<String> {
    let controller = controller(interface, observation)?;
    let is_lost = mtu < IPV6_LEAST_MTU
        && controller.kind.as_deref() == Some("bridge")
        && matches!(controller.ipv6, Ipv6::Enabled | Ipv6::Disabled);
    let name = &controller.name;
    is_lost.then(|| {
        format!(
            "an MTU of {mtu} is below {IPV6_LEAST_MTU}, the least of IPv6: it would take IPv6, and how it is set, from {name}, a bridge \
             that has the least MTU of its ports"
        )
    })
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
                "{name} keeps its MTU of {}: it is a port of {other}, which has one MTU with its ports",
                interface.mtu
            ))
        }
        Action::SetMacAddress { to, .. } => Some(format!(
            "{name} keeps its MAC address {to}: it is a port of {other}, which may have it of it"
        )),
        _ => None,
    }
}

/// The interfaces that are made on this one (VLANs, macvlans), and those made on them, the uppermost first. Not what has
/// the MTU of the one below by itself, with each change of that (`ipvlan_adjust_mtu` in
/// `drivers/net/ipvlan/ipvlan_main.c`).
pub(super) fn above<'a>(interface: &Interface, observation: &'a Observation) -> Vec<&'a Interface> {
    let mut above: Vec<&Interface> = Vec::new();
    let mut below = vec![interface.index];
    while !below.is_empty() {
        let next: Vec<&Interface> = observation
            .interfaces
            .iter()
            .filter(|upper| upper.lower.is_some_and(|lower| below.contains(&lower)))
            .filter(|upper| !matches!(upper.kind.as_deref(), Some("ipvlan" | "ipvtap")))
            .filter(|upper| above.iter().all(|known| known.index != upper.index))
            .collect();
        below = next.iter().map(|upper| upper.index).collect();
        above.extend(next);
    }
    above.reverse();
    above
}

/// What others would lose if an interface had an MTU: with one that is too small for it the kernel takes IPv6 away,
/// and nothing could put it back.
pub(super) fn ipv6_of_others(
    mtu: u32,
    interface: &Interface,
    ledger: &Ledger,
    observation: &Observation,
) -> Option<String> {
    if mtu >= IPV6_LEAST_MTU {
        return None;
    }
    let own = own_addresses(interface, ledger);
    let addresses = interface.addresses.iter();
    let addresses = addresses.filter(|address| {
        let is_kernels = address.is_ipv6_link_local();
        address.ip().is_ipv6() && !is_kernels && !own.contains(address)
    });
    let routes = of_others(observation)
        .filter(|route| route.destination.family() == Family::Ipv6 && is_through(route, interface));
    let things = addresses.map(ToString::to_string);
    let things = listing(things.chain(routes.map(|route| format!("the {route}"))));
    let name = &interface.name;
    (!things.is_empty()).then(|| {
        format!(
            "an MTU of {mtu} is below {IPV6_LEAST_MTU}, the least of IPv6: it would take {things} of others from {name}"
        )
    })
}

/// The addresses that the agent added to an interface, which has them.
pub(super) fn own_addresses(interface: &Interface, ledger: &Ledger) -> BTreeSet<InterfaceAddress> {
    let entries = ledger.of_interface(interface.index).iter();
    let added = entries.filter_map(|entry| match &entry.first.action {
        Action::AddAddress { address } => Some(*address),
        _ => None,
    });
    added
        .filter(|address| {
            interface.addresses.contains(address) || interface.duplicate_addresses.contains(address)
        })
        .collect()
}

/// Those of the leaving addresses that routes of others need, each with why, a clause; `coming` are those that the
/// interface is to have.
///
/// With an address the kernel removes the routes that have it for their source, or that from them (`fib_sync_down_addr`
/// in `net/ipv4/fib_semantics.c`, `fib6_remove_prefsrc` in `net/ipv6/route.c`); with the last IPv4 address all of
/// IPv4 (`fib_inetaddr_event` in `net/ipv4/fib_frontend.c`).
pub(super) fn needed_addresses(
    interface: &Interface,
    leaving: &BTreeSet<InterfaceAddress>,
    coming: &[InterfaceAddress],
    observation: &Observation,
) -> BTreeMap<InterfaceAddress, String> {
    let mut needed = BTreeMap::new();
    if leaving.is_empty() {
        return needed;
    }
    let staying = interface.addresses.iter();
    let staying: Vec<&InterfaceAddress> = staying
        .filter(|address| !leaving.contains(address))
        .chain(coming)
        .collect();
    let elsewhere = observation.interfaces.iter();
    let elsewhere: Vec<&InterfaceAddress> = elsewhere
        .filter(|other| other.index != interface.index)
        .flat_map(|other| &other.addresses)
        .collect();
    for address in leaving {
        // Of IPv6 an interface has an address once, with one prefix length.
        let twins = staying.iter().filter(|other| other.ip().is_ipv4());
        let mut others = elsewhere.iter().chain(twins);
        if others.any(|other| other.ip() == address.ip()) {
            continue;
        }
        let route = of_others(observation).find(|route| route.source == Some(address.ip()));
        if let Some(route) = route {
            let why = format!("the {route} of others has it for its source");
            needed.insert(*address, why);
        }
    }
    let is_ipv4 = |address: &&InterfaceAddress| address.ip().is_ipv4();
    let mut kept = staying.iter().copied().chain(needed.keys());
    if !kept.any(|address| is_ipv4(&address))
        && let Some(last) = leaving.iter().find(is_ipv4)
    {
        let route = of_others(observation).find(|route| {
            let is_ipv4 = route.destination.family() == Family::Ipv4;
            // What needs no address to be reached is put back.
            let needs_none = route.gateway.is_none() || route.on_link;
            is_ipv4 && !needs_none && is_through(route, interface)
        });
        if let Some(route) = route {
            let why = format!("with its last IPv4 address it would lose the {route} of others");
            needed.insert(*last, why);
        }
    }
    needed
}

/// The routes that others made.
pub(super) fn of_others(observation: &Observation) -> impl Iterator<Item = &Route> {
    let routes = observation.routes.iter();
    routes.filter(|route| !route.is_own() && !route.is_automatic())
}

pub(super) fn is_through(route: &Route, interface: &Interface) -> bool {
    route.interface == Some(interface.index)
}
