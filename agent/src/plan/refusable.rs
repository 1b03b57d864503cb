//! What the kernel is known to refuse of a route: a problem of that route, where its refusal would cost the device
//! all that it has.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::draft::Draft;
use crate::observe::Observation;
use crate::policy::Prefix;
use crate::routing::{Route, RouteKind};

/// Why the kernel would refuse a route; `guest` has the addresses that the guest has or is to have, and `wanted` are
/// all routes that the device is to have.
pub(super) fn refusal<'a>(
    route: &Route,
    draft: &Draft<'_>,
    guest: &BTreeSet<IpAddr>,
    mut wanted: impl Iterator<Item = &'a Route>,
) -> Option<String> {
    let name = draft.name;
    if let Some(gateway) = route.gateway {
        if is_own(gateway, route.on_link, draft, guest) {
            return Some(format!("{gateway} is an address of this guest"));
        }
        if is_broadcast(gateway, draft) {
            return Some(format!("{gateway} is a broadcast address of {name}"));
        }
        let may_reach = |other: &Route| reaches(other, gateway, draft.interface.index);
        let is_reached = route.on_link
            || super::wishes::is_reached(gateway, draft)
            || wanted.any(may_reach)
            || draft.observation.routes.iter().any(may_reach);
        if !is_reached {
            return Some(format!(
                "no address or route of {name} reaches {gateway}: on-link = true says that it is there all the same"
            ));
        }
    }
    let source = route
        .source
        .filter(|source| !may_be_source(*source, draft, guest))?;
    Some(format!("this guest has no address {source}"))
}

/// Whether a gateway is the guest's own: no packet would leave (`fib_check_nh` in `net/ipv4/fib_semantics.c`,
/// `ip6_validate_gw` in `net/ipv6/route.c`).
///
/// With an address of another interface for a gateway it takes an IPv4 route that is not on link; and a VRF may be
/// another one's.
fn is_own(gateway: IpAddr, on_link: bool, draft: &Draft<'_>, guest: &BTreeSet<IpAddr>) -> bool {
    let mut its = draft.addresses().chain(draft.staying());
    if its.any(|address| address.ip() == gateway) {
        return true;
    }
    let others_count = match gateway {
        IpAddr::V4(_) => on_link,
        // Every link has addresses of that kind of its own.
        IpAddr::V6(ip) => !ip.is_unicast_link_local(),
    };
    others_count && draft.interface.controller.is_none() && guest.contains(&gateway)
}

fn is_broadcast(gateway: IpAddr, draft: &Draft<'_>) -> bool {
    let IpAddr::V4(gateway) = gateway else {
        return false;
    };
    let mut addresses = draft.addresses().chain(draft.staying());
    addresses.any(|address| {
        // Two hosts have no broadcast address (RFC 3021).
        let host = u32::MAX.checked_shr(u32::from(address.prefix()));
        let link = Prefix::around(address.ip(), address.prefix());
        let is_there = link.is_some_and(|link| link.contains(gateway.into()));
        address.prefix() < 31
            && is_there
            && host.is_some_and(|host| gateway.to_bits() & host == host)
    })
}

/// Whether the gateway is on the link by a route of the interface.
fn reaches(route: &Route, gateway: IpAddr, interface: u32) -> bool {
    route.interface == Some(interface)
        && route.kind == RouteKind::Unicast
        && route.gateway.is_none()
        && route.destination.contains(gateway)
}

/// Whether the kernel takes an address for a source: any of the guest's, of IPv6 and of a link only the interface's
/// (`fib_valid_prefsrc` in `net/ipv4/fib_semantics.c`, `ip6_route_info_create` in `net/ipv6/route.c`).
fn may_be_source(source: IpAddr, draft: &Draft<'_>, guest: &BTreeSet<IpAddr>) -> bool {
    let is_of_a_link = matches!(source, IpAddr::V6(ip) if ip.is_unicast_link_local());
    let its = draft.addresses().chain(draft.staying());
    its.map(|address| address.ip()).any(|ip| ip == source)
        || !is_of_a_link && guest.contains(&source)
}

/// The addresses that the guest has, and that its devices are to have.
pub(super) fn of_guest(drafts: &[Draft<'_>], observation: &Observation) -> BTreeSet<IpAddr> {
    let coming = drafts.iter().flat_map(Draft::addresses);
    let interfaces = observation.interfaces.iter();
    let addresses = interfaces.flat_map(|interface| &interface.addresses);
    addresses
        .chain(&observation.loopback_addresses)
        .chain(coming)
        .map(|address| address.ip())
        .collect()
}
