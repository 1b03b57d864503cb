//! What a policy's text says, and how its mistakes are told.

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

fn mistakes(text: &str) -> String {
    Policy::parse("agent.toml", text).unwrap_err().to_string()
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
            {"to": "2001:db8:1::/48", "kind": "unreachable", "table": 254},
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

/// Keys of a `[[device]]` table, the place of their mistake, and words of its message.
const MISTAKES: &[(&str, &str, &str)] = &[
    (
        "renam = \"x\"",
        "2:1",
        "unknown key `renam`: did you mean `rename`?",
    ),
    ("set_mac = true", "2:1", "did you mean `set-mac`?"),
    (
        "gateway = \"192.0.2.1\"",
        "2:1",
        "the keys here are claim, request, ",
    ),
    ("rename = \"eth%d\"", "2:10", "'%'"),
    ("rename = 7", "2:10", "expected a string, found integer"),
    (
        "\nmtu = 0",
        "3:7",
        "an MTU of 0 is not within 68 to 4294967295",
    ),
    ("mtu = -1", "2:7", "an MTU of -1 is not"),
    ("mtu = 4294967296", "2:7", "is not within"),
    ("mtu = \"9000\"", "2:7", "expected an integer, found string"),
    ("mtu = 1\nmtu = 2", "3:1", "duplicate key"),
    ("claim = \"\"", "2:9", "an empty pattern matches nothing"),
    (
        "manage = \"no\"",
        "2:10",
        "expected true or false, found string",
    ),
    ("addresses = [\"192.0.2.5\"]", "2:14", "no prefix length"),
    (
        "addresses = [\n  \"192.0.2.5/24\",\n  \"x\"]",
        "4:3",
        "\"x\" is not an address",
    ),
    (
        "addresses = \"192.0.2.5/24\"",
        "2:13",
        "expected a list, found string",
    ),
    ("alternative-names = [\"a b\"]", "2:22", "spaces"),
    (
        "pin = true",
        "2:1",
        "`pin`: this version of the agent does not pin",
    ),
    ("rp-filter = 2", "2:13", "expected a string"),
    (
        "rp-filter = \"lose\"",
        "2:13",
        "\"off\", \"strict\" or \"loose\"",
    ),
    ("accept-ra = \"on\"", "2:13", "accept-ra is \"never\""),
    (
        "routes = [{via = \"192.0.2.1\"}]",
        "2:11",
        "the key `to` is missing",
    ),
    (
        "routes = [{to = \"default\"}]",
        "2:12",
        "write \"0.0.0.0/0\" or \"::/0\"",
    ),
    (
        "routes = [{to = \"192.0.2.5/24\"}]",
        "2:17",
        "write 192.0.2.0/24",
    ),
    (
        "routes = [{to = \"::/0\", via = \"192.0.2.1\"}]",
        "2:25",
        "IPv6 gateway",
    ),
    (
        "routes = [{to = \"::/0\", source = \"192.0.2.1\"}]",
        "2:25",
        "is an IPv6 address",
    ),
    (
        "routes = [{to = \"::/0\", on-link = true}]",
        "2:25",
        "which is missing",
    ),
    (
        "routes = [{to = \"::/0\", via = \"::\"}]",
        "2:25",
        "an address of its own",
    ),
    (
        "routes = [{to = \"::/0\", table = 0}]",
        "2:33",
        "a table of 0 is not",
    ),
    (
        "routes = [{to = \"::/0\", table = \"red\"}]",
        "2:33",
        "\"main\" or \"default\"",
    ),
    (
        "routes = [{to = \"::/0\", type = \"local\"}]",
        "2:32",
        "a route's type is",
    ),
    (
        "routes = [{to = \"::/0\", gw = \"::1\"}]",
        "2:25",
        "unknown key `gw`",
    ),
    (
        "rules = [{table = 5, priority = 5}]",
        "2:10",
        "all of the guest's traffic",
    ),
    (
        "rules = [{from = \"::/0\", priority = 5}]",
        "2:10",
        "`table` is missing",
    ),
    (
        "rules = [{from = \"::/0\", table = 5}]",
        "2:10",
        "`priority` is missing",
    ),
    (
        "rules = [{from = \"::/0\", table = 5, priority = 0}]",
        "2:48",
        "a priority of 0",
    ),
    (
        "rules = [{from = \"::/0\", to = \"0.0.0.0/0\", table = 5, priority = 5}]",
        "2:26",
        "two address families",
    ),
    (
        "rules = [{fwmark = \"0x\", table = 5, priority = 5}]",
        "2:20",
        "is not a mark",
    ),
];

#[test]
fn mistakes_are_named_with_their_place() {
    for (keys, place, words) in MISTAKES {
        let told = mistakes(&format!("[[device]]\n{keys}\n"));
        let place = format!("agent.toml:{place}: ");
        assert!(
            told.starts_with(&place) && told.contains(words),
            "{keys}: {told}"
        );
        assert!(!told.contains('\n'), "{keys}: {told}");
    }
    assert!(
        mistakes("[[devices]]\n").contains("1:3: unknown key `devices`: did you mean `device`?")
    );
    assert!(mistakes("[device]\n").contains("expected a list, found table"));
    assert!(mistakes("[[device]\n").starts_with("agent.toml:1:"));
    assert!(mistakes("\u{7}").starts_with("agent.toml:1:"));
}

#[test]
fn all_mistakes_are_told_in_their_order() {
    let told = mistakes("[[device]]\nmtu = 0\nrename = \"\"\nfoo = 1\n[[device]]\nmtu = true\n");
    let lines: Vec<&str> = told.lines().map(|line| &line[..14]).collect();
    assert_eq!(
        lines,
        [
            "agent.toml:2:7",
            "agent.toml:3:1",
            "agent.toml:4:1",
            "agent.toml:6:7"
        ]
    );
}
