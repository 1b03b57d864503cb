//! An agent that is killed anywhere: `revert` takes back what it did all the same.

use std::process::Command;

use serde_json::json;

use crate::guest::{Guest, device};
use crate::namespace::in_namespace;
use crate::revert::{all_wanted_of_three, reverted, state, three_devices};

/// Where it is killed: at every request to the kernel and every answer of it, at every write to the
/// journal or another file, and when a file is put in its place.
const CALLS: [&str; 4] = ["sendto", "recvfrom", "write", "rename"];

/// The agent, killed by strace at the n-th system call of this name; whether it came so far.
fn killed(guest: &Guest, command: &str, call: &str, number: usize) -> bool {
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-o", "/dev/null", "-e", &format!("trace={call}")])
        .args(["-e", &format!("inject={call}:signal=KILL:when={number}")])
        .args([env!("CARGO_BIN_EXE_dra-guest-agent"), command]);
    let output = guest
        .with_roots(strace)
        .output()
        .expect("run strace, of the package strace");
    match output.status.code() {
        Some(0) => false,
        None => true,
        Some(code) => panic!("{code}: {}", String::from_utf8_lossy(&output.stderr)),
    }
}

/// Kills the command at every such call, in turn, each time after `prepare`; what `follow` does then, a
/// `revert` takes everything back to where it was.
fn killed_at_every(
    calls: &[&str],
    command: &str,
    prepare: impl Fn(&Guest) + Sync,
    follow: impl Fn(&Guest) + Sync,
) {
    in_namespace(|| {
        let guest = Guest::new();
        three_devices(&guest);
        let before = state(&guest);
        for call in calls {
            for number in 1.. {
                prepare(&guest);
                let was_killed = killed(&guest, command, call, number);
                follow(&guest);
                reverted(&guest);
                assert_eq!(state(&guest), before, "{call} {number}");
                if !was_killed {
                    // A revert may have no file to put in another's place.
                    let some = number > 2 || command == "revert";
                    assert!(some, "{call}: there was nothing to kill");
                    break;
                }
            }
        }
    });
}

fn applied(guest: &Guest) {
    assert_eq!(guest.agent("apply").code, 0);
}

#[test]
fn an_agent_that_is_killed_anywhere_can_be_reverted() {
    killed_at_every(&CALLS, "apply", |_| {}, |_| {});
}

#[test]
fn a_revert_that_is_killed_anywhere_can_be_repeated() {
    killed_at_every(&CALLS, "revert", applied, |_| {});
}

// amazon-ec2-net-utils@26a67ce, amazon-ec2-net-utils@65fbb03 (case 47).
#[test]
fn an_apply_that_is_killed_anywhere_is_repeated_without_losing_the_first_state() {
    killed_at_every(&["sendto"], "apply", |_| {}, applied);
}

/// In a second pass: names that change round, so that one is had for a moment that is neither the first
/// pass's nor the second's, and addresses that go.
#[test]
fn a_later_apply_that_is_killed_anywhere_is_taken_back_to_the_state_before_the_first() {
    let prepare = |guest: &Guest| {
        all_wanted_of_three(guest);
        applied(guest);
        guest.document(&json!([
            device(1, "net3", &["192.0.2.8/24"]),
            device(2, "eth2", &["192.0.2.6/24"]),
            device(3, "eth1", &["192.0.2.7/24"])
        ]));
    };
    killed_at_every(&["sendto", "write"], "apply", prepare, |_| {});
}

/// In a second pass: a device is gone from the document, whose interface gets its former name back, since another is to
/// have the one that it was given; and so an alternative name passes.
#[test]
fn names_that_pass_on_are_taken_back_wherever_the_agent_was_killed() {
    let prepare = |guest: &Guest| {
        all_wanted_of_three(guest);
        applied(guest);
        guest.document(&json!([
            device(1, "net3", &["192.0.2.8/24"]),
            device(3, "eth1", &["192.0.2.7/24"])
        ]));
        guest.policy("[[device]]\nclaim = \"nic-1\"\nalternative-names = [\"storage\"]\n");
    };
    killed_at_every(&["sendto"], "apply", prepare, |_| {});
}
