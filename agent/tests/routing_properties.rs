//! What holds of the routes and rules of every plan, for states and wishes that nobody thought of.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use dra_guest_agent::observe::Observation;
use dra_guest_agent::plan::{Action, Plan, Wanted, plan};
use dra_guest_agent::routing::{PROTOCOL, Route, RoutingRule};
use proptest::prelude::*;
use serde_json::json;

/// Few of each, so that they meet.
const DESTINATIONS: [&str; 3] = ["0.0.0.0/0", "203.0.113.0/24", "2001:db8:7::/48"];
const GATEWAYS: [[Option<&str>; 3]; 3] = [
    [None, Some("192.0.2.1"), Some("192.0.2.2")],
    [None, Some("192.0.2.1"), Some("198.51.100.1")],
    [None, Some("2001:db8::1"), Some("fe80::1")],
];
const TABLES: [u32; 3] = [254, 77, 10_739_003];
const METRICS: [u32; 2] = [0, 1024];

/// One route: destination, gateway, table, metric.
fn parts() -> impl Strategy<Value = (usize, usize, usize, usize)> {
    (0..3_usize, 0..3_usize, 0..3_usize, 0..2_usize)
}

fn observed() -> impl Strategy<Value = Observation> {
    let route = (
        parts(),
        3..6_u32,
        prop::sample::select(vec![3_u8, 16, PROTOCOL]),
    );
    let rule = (0..3_usize, prop::sample::select(vec![3_u8, PROTOCOL]));
    let routes = prop::collection::vec(route, 0..6);
    let rules = prop::collection::vec(rule, 0..4);
    (routes, rules).prop_map(|(routes, rules)| {
        let interfaces: Vec<_> = (3..6)
            .map(|index| {
                json!({"index": index, "name": format!("net{index}"), "up": true, "mtu": 1500,
                       "macAddress": format!("02:00:00:00:00:{index:02x}")})
            })
            .collect();
        let mut observation: Observation =
            serde_json::from_value(json!({"interfaces": interfaces})).unwrap();
        for ((to, gateway, table, metric), interface, protocol) in routes {
            let route: Route = serde_json::from_value(json!({
                "destination": DESTINATIONS[to], "gateway": GATEWAYS[to][gateway],
                "table": TABLES[table], "metric": METRICS[metric], "interface": interface,
                "protocol": protocol
            }))
            .unwrap();
            // As the kernel: the first of a key stays, and IPv6 has a metric.
            let route = Route {
                metric: route.effective_metric(),
                ..route
            };
            if !observation
                .routes
                .iter()
                .any(|other| other.is_in_place_of(&route))
            {
                observation.routes.push(route);
            }
        }
        for (table, protocol) in rules {
            let rule: RoutingRule = serde_json::from_value(json!({
                "priority": 500, "family": "ipv4", "table": TABLES[table], "protocol": protocol
            }))
            .unwrap();
            if !observation.rules.contains(&rule) {
                observation.rules.push(rule);
            }
        }
        observation
    })
}

/// Devices that are interface 3 to 6, the last of which is never there.
fn wishes() -> impl Strategy<Value = Vec<Wanted>> {
    let rules = prop::collection::vec(0..3_usize, 0..3);
    let one = (prop::collection::vec(parts(), 0..4), rules, any::<bool>());
    prop::collection::vec(one, 1..5).prop_map(|devices| {
        let devices = devices.into_iter().enumerate();
        let wanted = devices.map(|(place, (routes, rules, source_routing))| Wanted {
            identity: serde_json::from_value(json!({"device": format!("d{place}")})).unwrap(),
            mac_address: Some(format!("02:00:00:00:00:{:02x}", place + 3).parse().unwrap()),
            addresses: vec!["192.0.2.5/24".parse().unwrap()],
            routes: routes
                .into_iter()
                .map(|(to, gateway, table, metric)| {
                    serde_json::from_value(json!({
                        "to": DESTINATIONS[to], "via": GATEWAYS[to][gateway],
                        "table": TABLES[table], "metric": METRICS[metric], "kind": "unicast"
                    }))
                    .unwrap()
                })
                .collect(),
            rules: rules
                .into_iter()
                .map(|table| {
                    serde_json::from_value(json!({
                        "from": "192.0.2.0/24", "table": TABLES[table], "priority": 500
                    }))
                    .unwrap()
                })
                .collect(),
            source_routing,
            ..Wanted::default()
        });
        wanted.collect()
    })
}

/// Does what the kernel does, and refuses what it refuses.
fn carry_out(plan: &Plan, observation: &mut Observation) {
    for step in plan.steps() {
        match &step.action {
            Action::AddAddress { address } => {
                let mut interfaces = observation.interfaces.iter_mut();
                let interface = interfaces.find(|it| it.index == step.interface).unwrap();
                interface.addresses.push(*address);
            }
            Action::AddRoute { route } => {
                let mut routes = observation.routes.iter();
                let other = routes.find(|other| other.is_in_place_of(route));
                assert_eq!(other, None, "{step}");
                observation.routes.push(Route {
                    metric: route.effective_metric(),
                    ..route.clone()
                });
            }
            Action::RemoveRoute { route } => {
                assert!(route.is_own(), "{step}: it is somebody else's");
                let place = observation.routes.iter().position(|other| other == route);
                observation
                    .routes
                    .remove(place.unwrap_or_else(|| panic!("{step}: gone")));
            }
            Action::AddRule { rule } => {
                assert!(!observation.rules.contains(rule), "{step}");
                observation.rules.push(rule.clone());
            }
            Action::RemoveRule { rule } => {
                assert!(rule.is_own(), "{step}: it is somebody else's");
                let place = observation.rules.iter().position(|other| other == rule);
                observation
                    .rules
                    .remove(place.unwrap_or_else(|| panic!("{step}: gone")));
            }
            _ => panic!("{step}: only addresses, routes and rules are wanted"),
        }
    }
}

fn problem_counts(plan: &Plan) -> Vec<usize> {
    let devices = plan.devices.iter();
    devices.map(|device| device.problems.len()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn every_plan_can_be_carried_out_and_leaves_nothing_to_do(
        mut observation in observed(),
        wanted in wishes(),
    ) {
        let first = plan(&wanted, &observation);
        let foreign = |observation: &Observation| {
            let routes = observation.routes.iter().filter(|route| !route.is_own());
            let rules = observation.rules.iter().filter(|rule| !rule.is_own());
            (routes.cloned().collect::<Vec<_>>(), rules.cloned().collect::<Vec<_>>())
        };
        let before = foreign(&observation);
        carry_out(&first, &mut observation);
        prop_assert_eq!(foreign(&observation), before);
        let second = plan(&wanted, &observation);
        prop_assert_eq!(&second.transactions, &Vec::new());
        prop_assert_eq!(problem_counts(&first), problem_counts(&second));
    }

    #[test]
    fn the_order_of_the_devices_does_not_matter(observation in observed(), wanted in wishes()) {
        let words = |plan: &Plan| {
            let mut words: Vec<String> = plan.steps().map(ToString::to_string).collect();
            words.sort();
            words
        };
        let there = plan(&wanted, &observation);
        let reversed: Vec<Wanted> = wanted.into_iter().rev().collect();
        prop_assert_eq!(words(&there).len(), words(&plan(&reversed, &observation)).len());
    }
}
