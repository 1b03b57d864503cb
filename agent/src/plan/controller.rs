//! What a device belongs to.
//!
//! The port of a bond, a team or a bridge hands all that it receives to that, which has the addresses and routes in its
//! place. A member of a VRF has its own, and routes in the VRF's table.

use std::net::IpAddr;

use super::Wanted;
use super::draft::Draft;
use super::wishes::kernel_route;
use crate::listing::listing;
use crate::observe::{Interface, Observation};
use crate::policy::{self, RouteKind};

/// `IFLA_INFO_KIND` of a VRF.
const VRF: &str = "vrf";

/// What has all that a port receives. A member of a VRF is no port.
pub(super) fn controller<'a>(
    interface: &Interface,
    observation: &'a Observation,
) -> Option<&'a Interface> {
    let controller = observation.interface(interface.controller?)?;
    (controller.kind.as_deref() != Some(VRF)).then_some(controller)
}

/// The table of the VRF that an interface is a member of, itself or with what it is a port of.
pub(super) fn vrf_table(interface: &Interface, observation: &Observation) -> Option<u32> {
    // Each belongs to one at most; a circle ends as well.
    let next = |it: &&Interface| observation.interface(it.controller?);
    let first = observation.interface(interface.controller?);
    std::iter::successors(first, next)
        .take(observation.interfaces.len())
        .find_map(|controller| controller.vrf_table)
}

/// Where that ends up which a port receives: at its controller, at what that is a port of, and at what is made on them.
pub fn beyond<'a>(interface: &Interface, observation: &'a Observation) -> Vec<&'a Interface> {
    let mut beyond: Vec<&Interface> = controller(interface, observation).into_iter().collect();
    let mut place = 0;
    while let Some(known) = beyond.get(place).copied() {
        let made_on = observation.interfaces.iter();
        let made_on = made_on.filter(|other| other.lower == Some(known.index));
        for other in made_on.chain(controller(known, observation)) {
            let is_new = beyond.iter().all(|it| it.index != other.index);
            if is_new && other.index != interface.index {
                beyond.push(other);
            }
        }
        place += 1;
    }
    beyond
}

/// Who has an address in a port's place.
pub(super) fn holder<'a>(
    ip: IpAddr,
    interface: &Interface,
    observation: &'a Observation,
) -> Option<&'a Interface> {
    let has = |other: &&Interface| other.addresses.iter().any(|address| address.ip() == ip);
    beyond(interface, observation).into_iter().find(has)
}

/// Who has the wanted addresses that a port does not have itself, in words; absent where there are none.
pub fn in_its_place(
    wanted: &Wanted,
    interface: &Interface,
    observation: &Observation,
) -> Option<String> {
    let elsewhere = (wanted.addresses.iter())
        .filter(|address| !interface.addresses.contains(address))
        .filter_map(|address| Some((address, holder(address.ip(), interface, observation)?)));
    let words =
        listing(elsewhere.map(|(address, other)| format!("{address} is on {}", other.name)));
    let controller = controller(interface, observation)?;
    let is_port = format!("{} is a port of {}", interface.name, controller.name);
    (!words.is_empty()).then(|| format!("{is_port}: {words}"))
}

/// The wanted addresses that a port is not given. One that it has, or that somebody has in its place, is as good.
fn addresses_of_a_port(draft: &Draft<'_>) -> Vec<String> {
    let (interface, observation) = (draft.interface, draft.observation);
    let missing = draft.addresses().filter(|address| {
        !interface.addresses.contains(address)
            && holder(address.ip(), interface, observation).is_none()
    });
    missing.map(ToString::to_string).collect()
}

/// Tells what a port is not given, and what is to have it in its place.
pub(super) fn tell_port(draft: &mut Draft<'_>) {
    let Some(controller) = draft.controller else {
        return;
    };
    let mut missing = addresses_of_a_port(draft);
    missing.extend(routes_of_a_port(draft));
    if draft.wanted.source_routing {
        missing.push("source routing".to_owned());
    }
    if !missing.is_empty() {
        let message = format!(
            "{} is a port of {controller}, which takes all that it receives and is to have in its place: {}",
            draft.name,
            listing(missing),
            controller = controller.name,
        );
        draft.problem(message);
    }
}

/// The wanted routes that do not go through a port. What leads to the same place from its controller is as good.
fn routes_of_a_port(draft: &Draft<'_>) -> Vec<String> {
    let observation = draft.observation;
    let beyond = beyond(draft.interface, observation);
    let is_there = |wanted: &policy::Route| {
        let mut routes = observation.routes.iter();
        routes.any(|route| {
            route.destination == wanted.to
                && route.gateway == wanted.via
                && wanted.table.is_none_or(|table| route.table == table)
                && (route.interface).is_some_and(|it| beyond.iter().any(|other| other.index == it))
        })
    };
    let wanted = draft.wanted.routes.iter();
    let missing = wanted.filter(|route| route.kind == RouteKind::Unicast && !is_there(route));
    missing
        .map(|route| format!("the {}", kernel_route(route, draft)))
        .collect()
}
