//! What a policy's text says.

mod mistakes;
mod unit_names;

use super::*;

fn identity(claim: &str, request: &str, driver: &str) -> DeviceIdentity {
    serde_json::from_value(serde_json::json!({
        "claim": {"namespace": "default", "name": claim, "podClaimName": "nic"},
        "request": request, "driver": driver
    }))
    .unwrap()
}

fn rule(text: &str) -> Rule {
    let policy = Policy::parse("agent.toml", text).unwrap_or_else(|error| panic!("{error}"));
    policy.rule_for(&identity("vm-nic", "vf", "sriov"))
}

#[test]
fn later_tables_win_key_by_key() {
    let policy = Policy::parse(
        "agent.toml",
        "[[device]]\nmtu = 1500\nrename = \"a\"\nroutes = [{to = \"::/0\"}]\n\
         [[device]]\nclaim = \"vm-*\"\nrequest = \"v?\"\nmtu = 9000\nroutes = []\n\
         [[device]]\ndriver = \"other\"\nrename = \"b\"\n",
    )
    .unwrap();
    let rule = policy.rule_for(&identity("vm-nic", "vf", "sriov"));
    assert_eq!(rule.mtu, Some(9000));
    assert_eq!(rule.rename.as_ref().unwrap().as_str(), "a");
    assert_eq!(rule.addresses, None);
    assert_eq!(rule.routes, Some(vec![]));
    let places = ["rename", "mtu", "routes"].map(|key| rule.places[key].to_string());
    assert_eq!(
        places,
        ["agent.toml:3:1", "agent.toml:8:1", "agent.toml:9:1"]
    );
    let other = policy.rule_for(&identity("db", "vf", "sriov"));
    assert_eq!(other.mtu, Some(1500));
    assert_eq!(other.routes.unwrap().len(), 1);
}

#[test]
fn a_template_claim_matches_by_its_name_in_the_pod() {
    let policy = Policy::parse("p", "[[device]]\nclaim = \"nic\"\nmtu = 1400\n").unwrap();
    assert_eq!(
        policy.rule_for(&identity("vm-nic-x7k2p", "vf", "d")).mtu,
        Some(1400)
    );
    assert_eq!(policy.rule_for(&DeviceIdentity::default()), Rule::default());
}

#[test]
fn without_a_word_a_device_is_managed_and_required() {
    let rule = Rule::default();
    assert!(rule.is_managed() && rule.is_required());
}

#[test]
fn every_key_has_its_value() {
    let rule = rule(
        r#"
[[device]]
manage = true
required = false
rename = "net1"
alternative-names = ["storage", "vm-nic-vf"]
mtu = 9_000
set-mac = true
addresses = ["192.0.2.5/24", "2001:db8::5/64"]
source-routing = true
rp-filter = "loose"
accept-ra = "always"

[[device.routes]]
to = "default"
via = "192.0.2.1"
metric = 200
table = 100
on-link = true
source = "192.0.2.5"

[[device.routes]]
to = "2001:db8:1::/48"
type = "unreachable"

[[device.routes]]
to = "198.51.100.7"
via = "fe80::1"
table = "main"

[[device.rules]]
from = "192.0.2.5"
table = 100
priority = 1000

[[device.rules]]
to = "2001:db8:1::/48"
iif = "eth0"
fwmark = "0x10/0xff"
table = "main"
priority = 0x1_0
"#,
    );
    assert_eq!((rule.is_managed(), rule.is_required()), (true, false));
    assert_eq!(rule.alternative_names.unwrap()[1].as_str(), "vm-nic-vf");
    assert_eq!((rule.mtu, rule.set_mac), (Some(9000), Some(true)));
    assert_eq!(rule.addresses.unwrap().len(), 2);
    assert_eq!(rule.source_routing, Some(true));
    assert_eq!(rule.rp_filter.unwrap().value(), 2);
    assert_eq!(rule.accept_ra.unwrap().value(), 2);
    let routes = serde_json::to_value(rule.routes.unwrap()).unwrap();
    assert_eq!(
        routes,
        serde_json::json!([
            {"to": "0.0.0.0/0", "via": "192.0.2.1", "onLink": true, "kind": "unicast",
             "source": "192.0.2.5", "metric": 200, "table": 100},
            {"to": "2001:db8:1::/48", "kind": "unreachable"},
            {"to": "198.51.100.7/32", "via": "fe80::1", "kind": "unicast", "table": 254}
        ])
    );
    let rules = rule.rules.unwrap();
    assert_eq!(rules[1].families(), [Family::Ipv6]);
    assert_eq!(
        serde_json::to_value(rules).unwrap(),
        serde_json::json!([
            {"from": "192.0.2.5/32", "table": 100, "priority": 1000},
            {"to": "2001:db8:1::/48", "iif": "eth0", "fwmark": "0x10/0xff", "table": 254,
             "priority": 16}
        ])
    );
    // As the planner's steps and the undo log may hold them.
    let text = serde_json::to_string(&routes).unwrap();
    assert_eq!(serde_json::from_str::<Vec<Route>>(&text).unwrap().len(), 3);
}

// kata-containers#2768, talos#9624 (case 64).
#[test]
fn a_default_route_has_the_family_of_its_gateway() {
    for (keys, to) in [
        ("to = \"default\", via = \"192.0.2.1\"", "0.0.0.0/0"),
        ("to = \"default\", via = \"fe80::1\"", "::/0"),
        ("to = \"0.0.0.0/0\", via = \"fe80::1\"", "0.0.0.0/0"),
        ("to = \"default\", source = \"2001:db8::5\"", "::/0"),
    ] {
        let routes = rule(&format!("[[device]]\nroutes = [{{{keys}}}]\n")).routes;
        assert_eq!(routes.unwrap()[0].to.to_string(), to, "{keys}");
    }
}

#[test]
fn what_is_brought_near_a_device_is_said_key_by_key() {
    let rule = rule(
        "[[device]]\nirq = \"node\"\nqueues = 4\nxps = true\nrps = false\nrfs = 4096\n\
         pin = [\"unit:db.service\", \"unit:web@1.service\", \"unit:db.service\"]\n\
         [[device]]\nirq = \"spread\"\nqueues = \"node\"\n",
    );
    assert_eq!(rule.irq, Some(Interrupts::Spread));
    assert_eq!(rule.queues, Some(Queues::Node));
    assert_eq!(
        (rule.xps, rule.rps, rule.rfs),
        (Some(true), Some(false), Some(4096))
    );
    let units: Vec<String> = rule.pin.unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(units, ["unit:db.service", "unit:web@1.service"]);
    assert_eq!(rule.places["irq"].to_string(), "agent.toml:9:1");
    let one = tests::rule("[[device]]\npin = \"unit:net.slice\"\n")
        .pin
        .unwrap();
    assert!(matches!(&one[..], [PinTarget::Unit(name)] if name.is_slice()));
}

#[test]
fn the_hosts_nodes_are_mapped_file_by_file() {
    let parse = |text| Policy::parse("f", text).unwrap();
    let mut policy = parse("[numa]\nhost-to-guest = {0 = 1, 1 = [2, 3], 7 = 0}\n");
    policy.lay_over(parse("[numa]\nhost-to-guest = {1 = 0}\n"));
    policy.lay_over(parse("[[device]]\n"));
    let nodes = policy.host_nodes().iter();
    let nodes: Vec<String> = nodes
        .map(|(host, guest)| format!("{host}={guest}"))
        .collect();
    assert_eq!(nodes, ["0=1", "1=0", "7=0"]);
}
