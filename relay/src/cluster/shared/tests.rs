//! What one claim says when one, two or more VMs have it.

use serde_json::json;

use super::*;
use crate::cluster::requests::Requests;
use crate::statement::Statement;

/// A claim with the devices `one` (request a) and `two` (request b); what stands there of ours as
/// `STATUS REASON MESSAGE`.
fn claim(one: &str, two: &str) -> Value {
    let entries: Vec<serde_json::Value> = [("one", one), ("two", two)]
        .iter()
        .filter(|(_, stands)| !stands.is_empty())
        .map(|(device, stands)| {
            let mut words = stands.splitn(3, ' ');
            let mut word = || words.next().unwrap_or_default();
            json!({"driver": "d", "pool": "p", "device": device, "conditions": [{
                "type": "dra-guest/Ready", "status": word(), "reason": word(), "message": word(),
                "lastTransitionTime": "2026-01-01T00:00:00Z"}]})
        })
        .collect();
    serde_json::from_value(json!({
        "metadata": {"namespace": "lab", "name": "nics", "uid": "u"},
        "status": {
            "allocation": {"devices": {"results": [
                {"request": "a", "driver": "d", "pool": "p", "device": "one"},
                {"request": "b", "driver": "d", "pool": "p", "device": "two"},
            ]}},
            "devices": entries,
        },
    }))
    .unwrap()
}

/// What stands on a device, as [`claim`] takes it.
fn of(claim: &Value, device: &str) -> String {
    let entries = claim.get("status").unwrap().list("devices").unwrap();
    let entry = entries
        .iter()
        .find(|entry| entry.text("device") == Some(device));
    entry.and_then(our_condition).map_or_else(String::new, |c| {
        ["status", "reason", "message"]
            .map(|key| c.text(key).unwrap())
            .join(" ")
    })
}

fn condition(status: Status, reason: Reason, message: &str) -> Condition {
    Condition {
        status,
        reason,
        message: message.to_owned(),
    }
}

fn statement(device: &str, condition: Condition) -> Statement {
    Statement {
        uid: None,
        request: None,
        driver: "d".parse().unwrap(),
        pool: "p".parse().unwrap(),
        device: device.parse().unwrap(),
        condition,
    }
}

/// A VM, and in short what it says of both devices: `ready`, `failed`, `pending`, `lost`, `new` or `awaited`.
fn vm(name: &str, says: &str) -> Voice {
    let said = |condition: Condition| ClaimUpdate {
        statements: vec![
            statement("one", condition.clone()),
            statement("two", condition),
        ],
        unreported: None,
    };
    let update = match says {
        "ready" => said(condition(
            Status::True,
            Reason::Configured,
            &format!("net-{name}"),
        )),
        "failed" => said(condition(Status::False, Reason::Ambiguous, "two of them")),
        "pending" => said(condition(Status::False, Reason::Pending, "still at it")),
        "lost" => ClaimUpdate {
            statements: Vec::new(),
            unreported: Some(condition(Status::Unknown, Reason::AgentLost, "silence")),
        },
        _ => ClaimUpdate::default(),
    };
    Voice {
        user: User {
            vm: format!("uid-{name}").parse().unwrap(),
            name: name.parse().unwrap(),
            requests: Requests::All,
        },
        is_new: says == "new",
        update,
    }
}

fn only(requests: &[&str], voice: Voice) -> Voice {
    let names = requests.iter().map(|&name| name.to_owned()).collect();
    Voice {
        user: User {
            requests: Requests::Some(names),
            ..voice.user
        },
        ..voice
    }
}

fn now() -> Timestamp {
    "2026-09-02T12:00:00Z".parse().unwrap()
}

#[test]
fn the_condition_of_a_claim_that_vms_share() {
    let ready = "True Configured 2 VMs are ready; a: net-a; b: net-b";
    for (before, says, after) in [
        // One VM has the word alone.
        ("", &["ready"][..], "True Configured net-a"),
        ("", &["lost"], ""),
        ("True Configured x", &["lost"], "Unknown AgentLost silence"),
        ("True Configured x", &["awaited"], "True Configured x"),
        (ready, &["ready"], "True Configured net-a"),
        (
            ready,
            &["new"],
            "False Pending the guest's agent has not reported this device yet",
        ),
        ("", &["new"], ""),
        // All have to be ready.
        ("", &["ready", "ready"], ready),
        (
            "",
            &["ready", "failed"],
            "False Ambiguous 1 of 2 VMs are ready; b: two of them",
        ),
        (
            "True Configured net-a",
            &["ready", "new"],
            "False Pending 1 of 2 VMs are ready; b: has not reported yet",
        ),
        (
            ready,
            &["ready", "lost"],
            "Unknown AgentLost 1 of 2 VMs are ready; b: silence",
        ),
        (
            ready,
            &["lost", "lost"],
            "Unknown AgentLost 0 of 2 VMs are ready; a: silence; b: silence",
        ),
        // False goes before Unknown, and what has failed before what is not finished.
        (
            "",
            &["ready", "lost", "pending"],
            "False Pending 1 of 3 VMs are ready; c: still at it; b: silence",
        ),
        (
            "",
            &["pending", "failed", "new"],
            "False Ambiguous 0 of 3 VMs are ready; a: still at it; b: two of them; c: has not reported yet",
        ),
        // A relay that was started anew turns nothing until all have had the time to speak.
        (ready, &["ready", "awaited"], ready),
        ("", &["ready", "awaited"], ""),
        (ready, &["awaited", "awaited"], ready),
        (
            ready,
            &["failed", "awaited"],
            "False Ambiguous 0 of 2 VMs are ready; a: two of them; b: has not reported yet",
        ),
        // Of a device that nobody has spoken of, there is no condition.
        ("", &["new", "lost"], ""),
    ] {
        let mut claim = claim(before, before);
        let voices: Vec<Voice> = ["a", "b", "c"]
            .iter()
            .zip(says)
            .map(|(name, says)| vm(name, says))
            .collect();
        let joined = merge(&mut claim, &voices, now());
        for device in ["one", "two"] {
            assert_eq!(of(&claim, device), after, "{before} {says:?}");
        }
        assert_eq!(joined.changed, before != after, "{before} {says:?}");
        assert!(joined.problems.values().all(Vec::is_empty), "{joined:?}");
        assert!(
            !merge(&mut claim, &voices, now()).changed,
            "a second time: {before} {says:?}"
        );
    }
}

#[test]
fn a_vm_counts_for_the_requests_that_it_was_given() {
    let mut claim = claim("", "");
    let voices = [
        only(&["a"], vm("a", "ready")),
        only(&["b"], vm("b", "failed")),
        only(&["c"], vm("c", "new")),
    ];
    let joined = merge(&mut claim, &voices, now());
    assert_eq!(of(&claim, "one"), "True Configured net-a");
    assert_eq!(of(&claim, "two"), "False Ambiguous two of them");
    // Each hears of its own problems.
    let problems = |vm: &str| joined.problems[&vm.parse().unwrap()].clone();
    let not_given = "no request that the device is allocated for was given to this VM";
    assert_eq!(problems("uid-a"), [format!("two: {not_given}")]);
    assert_eq!(problems("uid-b"), [format!("one: {not_given}")]);
    assert_eq!(problems("uid-c"), Vec::<String>::new());
}

#[test]
fn a_statement_for_another_claim_of_the_name_is_no_word() {
    let mut claim = claim("", "");
    let mut old = vm("b", "ready");
    for statement in &mut old.update.statements {
        statement.uid = Some("another".parse().unwrap());
    }
    old.is_new = true;
    let joined = merge(&mut claim, &[vm("a", "ready"), old], now());
    assert_eq!(
        of(&claim, "one"),
        "False Pending 1 of 2 VMs are ready; b: has not reported yet"
    );
    assert!(
        joined.problems[&"uid-b".parse().unwrap()][0].contains("another claim of the same name")
    );
}

#[test]
fn the_message_of_many_vms_is_bounded() {
    let voices: Vec<Voice> = (0..256)
        .map(|n| vm(&format!("{}-{n:03}", "x".repeat(59)), "ready"))
        .chain([vm("z", "failed")])
        .collect();
    let mut claim = claim("", "");
    merge(&mut claim, &voices, now());
    assert_eq!(
        of(&claim, "one"),
        "False Ambiguous 256 of 257 VMs are ready; z: two of them"
    );
    merge(&mut claim, &voices[..256], now());
    let text = of(&claim, "one");
    assert!(
        text.starts_with("True Configured 256 VMs are ready; xxx"),
        "{text}"
    );
    assert!(text.ends_with(" more"), "{text}");
    assert!(text.len() <= MESSAGE_BYTES + "True Configured ".len());
}
