//! How the mistakes of a policy's text are told.

use crate::policy::Policy;

fn mistakes(text: &str) -> String {
    Policy::parse("agent.toml", text).unwrap_err().to_string()
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
        "2:7",
        "expected a string like \"unit:NAME.service\"",
    ),
    (
        "pin = \"nginx.service\"",
        "2:7",
        "write \"unit:NAME.service\"",
    ),
    ("pin = [\"unit:db.mount\"]", "2:8", "is no unit"),
    ("pin = \"unit:../x.service\"", "2:7", "is no unit"),
    ("irq = \"numa\"", "2:7", "\"spread\", \"node\" or \"leave\""),
    ("irq = true", "2:7", "expected a string"),
    (
        "queues = \"all\"",
        "2:10",
        "\"node\", \"leave\" or a number",
    ),
    (
        "queues = 0",
        "2:10",
        "a number of queues of 0 is not within",
    ),
    ("xps = 1", "2:7", "expected true or false"),
    ("rfs = 1000", "2:7", "1024 is the next"),
    ("rfs = 2097152", "2:7", "is not within"),
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
        "routes = [{to = \"0.0.0.0/0\", via = \"127.0.0.1\"}]",
        "2:30",
        "an address of its own",
    ),
    (
        "routes = [{to = \"0.0.0.0/0\", via = \"255.255.255.255\"}]",
        "2:30",
        "an address of its own",
    ),
    (
        "routes = [{to = \"0.0.0.0/0\", source = \"0.0.0.0\"}]",
        "2:30",
        "no host can send from",
    ),
    (
        "routes = [{to = \"::/0\", source = \"ff02::1\"}]",
        "2:25",
        "no host can send from",
    ),
    (
        "routes = [{to = \"::/0\", table = 255}]",
        "2:25",
        "that table is the kernel's",
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

// kata-containers#73 (case 68).
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

#[test]
fn one_table_is_no_list_of_them() {
    let told = mistakes("[device]\nmtu = 1400\n");
    let words =
        "agent.toml:1:1: `[device]` is one table, of which there may be many: write `[[device]]`";
    assert_eq!(told, words);
}

#[test]
fn bytes_that_are_no_text_are_named_by_their_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("agent.toml");
    std::fs::write(&path, b"[[device]]\nclaim = \"\xc3\x28\"\n").unwrap();
    let told = Policy::read_file(&path).unwrap_err().to_string();
    let words = format!("{}:2: the file is not UTF-8 text", path.display());
    assert_eq!(told, words);
}

#[test]
fn the_numa_table_is_checked() {
    for (text, words) in [
        (
            "[numa]\nhost-to-gest = {}",
            "f:2:1: unknown key `host-to-gest`: did you mean `host-to-guest`?",
        ),
        ("numa = 1", "f:1:8: expected a table"),
        (
            "[numa]\nhost-to-guest = [1]",
            "expected a table like {0 = 0, 1 = 1}",
        ),
        (
            "[numa]\nhost-to-guest = {x = 1}",
            "f:2:18: `x` is no NUMA node of the host",
        ),
        (
            "[numa]\nhost-to-guest = {-1 = 1}",
            "`-1` is no NUMA node of the host",
        ),
        (
            "[numa]\nhost-to-guest = {0 = 1024}",
            "a NUMA node of 1024 is not within 0 to 1023",
        ),
        ("[numa]\nhost-to-guest = {0 = []}", "a list without a node"),
        ("[numa]\nhost-to-guest = {0 = [0, -1]}", "a NUMA node of -1"),
    ] {
        let told = Policy::parse("f", text).unwrap_err().to_string();
        assert!(told.contains(words), "{text}: {told}");
    }
}
