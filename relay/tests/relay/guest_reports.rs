//! Reports that are as they should be, and those that are not.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use serde_json::json;

use crate::world::{READY_MESSAGE, World, not_ready, ready};

#[test]
fn a_report_becomes_the_condition_before_it_is_acknowledged() {
    let world = World::new();
    world.put_claim("a");
    let _relay = world.relay_of_one();
    let mut guest = world.agent("vm5");
    assert_eq!(guest.report(1, &[ready("a")]), Vec::<String>::new());
    let [status, reason, message, time] = world.condition("a.yaml").unwrap();
    assert_eq!(
        [status.as_str(), &reason, &message],
        ["True", "Configured", READY_MESSAGE]
    );
    assert_eq!(time.len(), "2026-09-01T00:00:00Z".len(), "{time}");
    assert!(time.parse::<jiff::Timestamp>().is_ok(), "{time}");

    let report = not_ready("a", "DeviceNotFound", "no NIC has\nthis MAC\u{1b}[2J");
    assert_eq!(guest.report(2, &[report]), Vec::<String>::new());
    let [status, reason, message, _] = world.condition("a.yaml").unwrap();
    assert_eq!(
        [status.as_str(), &reason, &message],
        ["False", "DeviceNotFound", "no NIC has this MAC[2J"]
    );
}

#[test]
fn the_same_again_leaves_the_file_alone() {
    let world = World::new();
    world.put_claim("a");
    let _relay = world.relay_of_one();
    let mut guest = world.agent("vm5");
    guest.report(1, &[ready("a")]);
    let state = || {
        let metadata = fs::metadata(world.claim_path("a.yaml")).unwrap();
        (metadata.ino(), metadata.mtime(), metadata.mtime_nsec())
    };
    let before = state();
    assert_eq!(guest.report(2, &[ready("a")]), Vec::<String>::new());
    let mut again = world.agent("vm5");
    assert_eq!(again.report(1, &[ready("a")]), Vec::<String>::new());
    assert_eq!(state(), before);
}

#[test]
fn a_guest_speaks_of_its_own_claims_only() {
    let world = World::new();
    let _relay = world.relay_of_two();
    let before = fs::read(world.claim_path("b.yaml")).unwrap();
    let mut guest = world.agent("vm5");
    let problems = guest.report(
        1,
        &[
            ready("b"),
            ready("a"),
            json!({"identity": {}, "ready": true, "reason": "Configured"}),
        ],
    );
    assert_eq!(
        problems,
        [
            "default/b: the claim is not one of this guest: the relay takes no word about it from here",
            "the device: the report does not name the claim, so it cannot be put on a claim",
        ]
    );
    assert_eq!(fs::read(world.claim_path("b.yaml")).unwrap(), before);
    assert_eq!(world.status("a.yaml"), "True Configured");
}

#[test]
fn two_guests_have_an_account_each() {
    let world = World::new();
    let _relay = world.relay_of_two();
    let mut five = world.agent("vm5");
    let mut six = world.agent("vm6");
    six.report(1, &[not_ready("b", "Pending", "")]);
    five.report(1, &[ready("a")]);
    assert_eq!(world.status("a.yaml"), "True Configured");
    assert_eq!(world.status("b.yaml"), "False Pending");
}

// kubernetes#128240 (case 109).
#[test]
fn what_is_not_in_the_claim_is_a_problem_and_the_rest_is_written() {
    let world = World::new();
    world.put_claim("a");
    let _relay = world.relay_of_one();
    let mut guest = world.agent("vm5");
    let mut other = ready("a");
    other["identity"]["device"] = json!("nic-other");
    let lost = not_ready("a", "AgentLost", "");
    let broken = json!({"identity": {"device": "x y"}});
    let problems = guest.report(7, &[other, lost, broken, ready("a")]);
    assert_eq!(problems.len(), 3, "{problems:?}");
    let has = |words: &str| problems.iter().any(|problem| problem.contains(words));
    assert!(
        has("must be an allocated device in the claim"),
        "{problems:?}"
    );
    assert!(has("AgentLost is the relay's own word"), "{problems:?}");
    assert!(
        has("devices[2]: \"x y\" is not a Kubernetes name"),
        "{problems:?}"
    );
    assert_eq!(world.status("a.yaml"), "True Configured");
}

#[test]
fn a_type_of_a_later_protocol_is_passed_over() {
    let world = World::new();
    world.put_claim("a");
    let _relay = world.relay_of_one();
    let mut guest = world.agent("vm5");
    guest.send(&json!({"type": "metrics", "load": [1, 2]}));
    guest.send(&json!({"type": "goodbye", "sequence": 9}));
    let problems = guest.acknowledged(9);
    assert!(
        problems[0].contains("type \"goodbye\" is not known to this relay"),
        "{problems:?}"
    );
    guest.send(&json!({"type": "heartbeat"}));
    assert_eq!(guest.report(10, &[ready("a")]), Vec::<String>::new());
}

#[test]
fn the_newest_connection_of_a_guest_counts() {
    let world = World::new();
    world.put_claim("a");
    let _relay = world.relay_of_one();
    let mut older = world.agent("vm5");
    let mut newer = world.agent("vm5");
    older.assert_closed();
    assert_eq!(newer.report(1, &[ready("a")]), Vec::<String>::new());
}

#[test]
fn what_was_ready_in_another_boot_is_pending() {
    let world = World::new();
    world.put_claim("a");
    let _relay = world.relay_of_one();
    world.agent("vm5").report(1, &[ready("a")]);
    // Another agent of the same boot, and one that cannot read the boot's ID, undo nothing.
    world.agent("vm5");
    world.connect("vm5").hello_of_boot("");
    assert_eq!(world.status("a.yaml"), "True Configured");

    let mut guest = world.connect("vm5");
    assert_eq!(guest.hello_of_boot("another"), Vec::<String>::new());
    let [status, reason, message, _] = world.condition("a.yaml").unwrap();
    assert_eq!(
        [status.as_str(), &reason, &message],
        [
            "False",
            "Pending",
            "the guest was booted anew, and its agent has not reported this device yet"
        ]
    );
    guest.report(1, &[ready("a")]);
    assert_eq!(world.status("a.yaml"), "True Configured");
}
