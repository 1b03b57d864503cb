//! What the kernel has of one device's routes and rules.

use super::Wanted;
use super::addresses::without_ipv6;
use super::draft::Draft;
use super::wishes::{routes, rules, source_table};
use crate::observe::{Interface, Observation};
use crate::routing::{Route, RouteKind, RoutingRule};

/// The routes and rules that are there of a device's, as the kernel shows them, in its order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoutingNow {
    /// Those that are wanted, whoever made them, and the agent's own that lead through the interface.
    pub routes: Vec<Route>,
    /// Those that are wanted, whoever made them, and those of its source routing.
    pub rules: Vec<RoutingRule>,
}

/// What the observation shows of the routes and rules of a device whose interface was found.
pub fn routing_now(
    wanted: &Wanted,
    interface: &Interface,
    observation: &Observation,
) -> RoutingNow {
    let mut draft = Draft::new(0, wanted, interface, observation, &interface.name);
    draft.without_ipv6 = without_ipv6(&draft, interface.mtu);
    let table = source_table(interface.index);
    let (routes, rules) = (routes(&draft), rules(&draft));
    let is_its_route = |route: &&Route| {
        let is_through = route.interface == Some(interface.index) || route.table == table;
        let is_wanted = || routes.iter().any(|wish| wish.is.is_met_by(route));
        // One that leads nowhere leaves through none, or through the loopback interface.
        let may_be = is_through || route.kind != RouteKind::Unicast;
        route.is_own() && is_through || may_be && is_wanted()
    };
    let is_its_rule = |rule: &&RoutingRule| {
        rule.is_own() && rule.table == table || rules.iter().any(|wish| wish.is.is_met_by(rule))
    };
    RoutingNow {
        routes: (observation.routes.iter().filter(is_its_route).cloned()).collect(),
        rules: (observation.rules.iter().filter(is_its_rule).cloned()).collect(),
    }
}
