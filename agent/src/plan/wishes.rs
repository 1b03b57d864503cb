//! The routes and rules that a device is to have, spelled out: those of the policy, and those that
//! source routing makes of them.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv6Addr};

use super::draft::Draft;
use crate::policy::{self, Family, MAIN_TABLE, Prefix, RouteKind};
use crate::routing::{PROTOCOL, Route, RoutingRule, SOURCE_PRIORITY, SOURCE_TABLES};

/// A route or rule, and why it is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wish<T> {
    pub is: T,
    /// The policy's name of the wish.
    pub key: &'static str,
    pub reason: String,
}

/// The table of a device with source routing.
pub(super) fn source_table(interface: u32) -> u32 {
    SOURCE_TABLES.saturating_add(interface)
}

/// The routes that a device is to have.
pub(super) fn routes(draft: &Draft<'_>) -> Vec<Wish<Route>> {
    let wanted = draft.wanted;
    let mut wishes = Vec::new();
    let has_source_table = has_source_table(draft);
    let in_kernel: Vec<Route> = (wanted.routes.iter())
        .map(|route| kernel_route(route, draft))
        .collect();
    for (route, is) in wanted.routes.iter().zip(&in_kernel) {
        if draft.controller.is_some() && route.kind == RouteKind::Unicast {
            continue;
        }
        if has_source_table && is.table == MAIN_TABLE {
            let several = in_kernel.iter().any(|other| {
                (other.table, other.destination) == (is.table, is.destination)
                    && other.effective_metric() != is.effective_metric()
            });
            let own = Route {
                table: source_table(draft.interface.index),
                // Among other devices' it competes in the main table alone.
                metric: if several { is.metric } else { 0 },
                ..is.clone()
            };
            let reason = "what is sent from its own addresses takes this route";
            wishes.push(wish(own, "source-routing", reason));
            // A guest has one way for all that does not say where it comes from. A metric says that
            // this device competes for it.
            if is.is_default() && route.metric.is_none() {
                continue;
            }
        }
        let reason = match (draft.vrf_table, route.table) {
            (Some(_), None) => "there is no such route in the table of its VRF",
            _ => "there is no such route",
        };
        wishes.push(wish(is.clone(), "routes", reason));
    }
    if has_source_table {
        wishes.extend(connected_routes(draft));
    }
    wishes
}

/// The rules that a device is to have.
pub(super) fn rules(draft: &Draft<'_>) -> Vec<Wish<RoutingRule>> {
    let mut wishes = Vec::new();
    for rule in &draft.wanted.rules {
        for family in rule.families() {
            let rule = kernel_rule(rule, *family);
            wishes.push(wish(rule, "rules", "there is no such rule"));
        }
    }
    if has_source_table(draft) {
        for (address, _) in own_addresses(draft) {
            let family = Family::of(address);
            let rule = RoutingRule {
                priority: SOURCE_PRIORITY,
                family,
                from: Prefix::around(address, family.bits()),
                to: None,
                iif: None,
                fwmark: None,
                table: source_table(draft.interface.index),
                protocol: PROTOCOL,
            };
            let reason = "what is sent from its own addresses looks into its own table";
            wishes.push(wish(rule, "source-routing", reason));
        }
    }
    wishes
}

/// Whether source routing is wanted and has a table of its own. In a VRF what is sent from its addresses looks into the
/// VRF's table as it is, before any such rule (`FIB_RULE_PREF` in `drivers/net/vrf.c`), and a port sends nothing itself.
fn has_source_table(draft: &Draft<'_>) -> bool {
    draft.wanted.source_routing && draft.vrf_table.is_none() && draft.controller.is_none()
}

fn wish<T>(is: T, key: &'static str, reason: &str) -> Wish<T> {
    Wish {
        is,
        key,
        reason: reason.to_owned(),
    }
}

/// A route of the policy as the kernel is to have it.
pub(super) fn kernel_route(route: &policy::Route, draft: &Draft<'_>) -> Route {
    let leaves = route.kind == RouteKind::Unicast;
    Route {
        destination: route.to,
        table: (route.table.or(draft.vrf_table)).unwrap_or(MAIN_TABLE),
        metric: route.metric.unwrap_or_default(),
        kind: route.kind.into(),
        interface: leaves.then_some(draft.interface.index),
        gateway: route.via,
        on_link: route.via.is_some_and(|gateway| {
            let said = route.on_link;
            said.unwrap_or_else(|| !is_reached(gateway, draft))
        }),
        from: None,
        tos: 0,
        source: route.source,
        protocol: PROTOCOL,
    }
}

/// Whether the kernel finds the gateway on the link by itself.
pub(super) fn is_reached(gateway: IpAddr, draft: &Draft<'_>) -> bool {
    if matches!(gateway, IpAddr::V6(ip) if ip.is_unicast_link_local()) {
        return true;
    }
    let mut addresses = draft.addresses().chain(draft.staying());
    addresses.any(|address| {
        let link = Prefix::around(address.ip(), address.prefix());
        link.is_some_and(|link| link.contains(gateway))
    })
}

fn kernel_rule(rule: &policy::RoutingRule, family: Family) -> RoutingRule {
    RoutingRule {
        priority: rule.priority,
        family,
        from: rule.from,
        to: rule.to,
        iif: rule.iif.as_ref().map(ToString::to_string),
        fwmark: rule.fwmark,
        table: rule.table,
        protocol: PROTOCOL,
    }
}

/// The networks of its addresses, for its own table: the main one has them from the kernel.
fn connected_routes(draft: &Draft<'_>) -> Vec<Wish<Route>> {
    let networks: BTreeSet<Prefix> = own_addresses(draft)
        .into_iter()
        .filter(|(address, length)| *length < Family::of(*address).bits())
        .filter_map(|(address, length)| Prefix::around(address, length))
        .collect();
    let reason = "its neighbours are reached by its own table too";
    networks
        .into_iter()
        .map(|destination| Route {
            destination,
            table: source_table(draft.interface.index),
            metric: 0,
            kind: RouteKind::Unicast.into(),
            interface: Some(draft.interface.index),
            gateway: None,
            on_link: false,
            from: None,
            tos: 0,
            source: None,
            protocol: PROTOCOL,
        })
        .map(|route| wish(route, "source-routing", reason))
        .collect()
}

/// The addresses that it has or is to have and that others know it by, with their prefix lengths.
fn own_addresses(draft: &Draft<'_>) -> BTreeSet<(IpAddr, u8)> {
    let wanted = draft.addresses();
    wanted
        .chain(draft.staying())
        .filter(|address| match address.ip() {
            IpAddr::V4(ip) => !ip.is_link_local(),
            IpAddr::V6(ip) => draft.without_ipv6.is_none() && !Ipv6Addr::is_unicast_link_local(&ip),
        })
        .map(|address| (address.ip(), address.prefix()))
        .collect()
}
