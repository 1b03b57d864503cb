//! How transactions stand and fall, on a target that notes what is done to it.

mod journal;

use super::*;
use crate::plan::{Action, Others};

/// Notes steps and undos, and refuses what it is told to refuse.
#[derive(Default)]
struct Notes {
    done: Vec<String>,
    refused: Vec<&'static str>,
    /// Steps that fail after they have changed something.
    half_done: Vec<&'static str>,
    already_so: Vec<&'static str>,
}

impl Target for Notes {
    type Error = String;

    async fn make(&mut self, step: &Step) -> Result<Outcome, StepError<String>> {
        let words = step.to_string();
        if self.already_so.contains(&words.as_str()) {
            return Ok(Outcome::AlreadySo);
        }
        let changed = self.half_done.contains(&words.as_str());
        if changed || self.refused.contains(&words.as_str()) {
            let error = format!("cannot {words}");
            return Err(StepError { error, changed });
        }
        self.done.push(words);
        Ok(Outcome::Changed)
    }

    async fn undo(&mut self, undo: &Undo) -> Result<(), String> {
        let words = undo.to_string();
        if self.refused.contains(&words.as_str()) {
            return Err(format!("cannot {words}"));
        }
        self.done.push(words);
        Ok(())
    }
}

fn transaction(steps: &[(usize, &str, Action)]) -> Transaction {
    let steps = steps.iter().map(|(device, name, action)| Step {
        device: *device,
        interface: 2,
        name: (*name).into(),
        action: action.clone(),
        reason: String::new(),
        source: None,
    });
    Transaction {
        steps: steps.collect(),
    }
}

fn rename(to: &str) -> Action {
    Action::Rename { to: to.into() }
}

fn add(address: &str) -> Action {
    let address = address.parse().unwrap();
    Action::AddAddress { address }
}

const MTU: Action = Action::SetMtu {
    from: 1500,
    to: 1400,
    ipv6: None,
};

fn run_on(target: &mut Notes, transactions: &[Transaction]) -> Applied<String> {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(run(target, &mut Journal::nowhere(), transactions))
}

#[test]
fn what_was_done_before_a_failure_is_taken_back_newest_first() {
    let mut target = Notes {
        refused: vec!["add 192.0.2.6/24 to net1"],
        ..Notes::default()
    };
    let applied = run_on(
        &mut target,
        &[transaction(&[
            (0, "eth0", rename("net1")),
            (0, "net1", MTU),
            (0, "net1", Action::SetUp(Others::default())),
            (0, "net1", add("192.0.2.5/24")),
            (0, "net1", add("192.0.2.6/24")),
            (0, "net1", add("192.0.2.7/24")),
        ])],
    );
    assert_eq!(
        target.done[4..],
        [
            "remove 192.0.2.5/24 from net1 again",
            "set net1 down again",
            "set the MTU of net1 back to 1500",
            "rename net1 back to eth0",
        ]
    );
    assert_eq!((applied.done, applied.undone, applied.skipped), (0, 4, 1));
    let failure = applied.failure_of(0).unwrap();
    assert_eq!(failure.error, "cannot add 192.0.2.6/24 to net1");
    assert_eq!(failure.undo_errors, [""; 0]);
}

#[test]
fn what_was_so_before_is_left_so() {
    let mut target = Notes {
        already_so: vec!["add 192.0.2.5/24 to eth0"],
        refused: vec!["set eth0 up"],
        ..Notes::default()
    };
    run_on(
        &mut target,
        &[transaction(&[
            (0, "eth0", add("192.0.2.5/24")),
            (0, "eth0", Action::SetUp(Others::default())),
        ])],
    );
    assert_eq!(target.done, [""; 0]);
}

#[test]
fn a_step_that_failed_half_way_is_taken_back_as_well() {
    let mut target = Notes {
        half_done: vec!["rename eth0 to net1"],
        ..Notes::default()
    };
    let applied = run_on(
        &mut target,
        &[transaction(&[
            (0, "eth0", MTU),
            (0, "eth0", rename("net1")),
        ])],
    );
    assert_eq!(
        target.done[1..],
        [
            "rename net1 back to eth0",
            "set the MTU of eth0 back to 1500"
        ]
    );
    assert_eq!((applied.done, applied.undone, applied.skipped), (0, 1, 0));
}

#[test]
fn an_undo_that_fails_does_not_keep_the_others() {
    let mut target = Notes {
        refused: vec!["set eth0 up", "set the MTU of eth0 back to 1500"],
        ..Notes::default()
    };
    let applied = run_on(
        &mut target,
        &[transaction(&[
            (0, "eth0", add("192.0.2.5/24")),
            (0, "eth0", MTU),
            (0, "eth0", Action::SetUp(Others::default())),
        ])],
    );
    assert_eq!(
        applied.failures[0].undo_errors,
        ["cannot set the MTU of eth0 back to 1500"]
    );
    assert_eq!(
        target.done.last().unwrap(),
        "remove 192.0.2.5/24 from eth0 again"
    );
}

#[test]
fn devices_of_one_transaction_fall_together_and_the_others_go_on() {
    let mut target = Notes {
        refused: vec!["rename tmp to b"],
        ..Notes::default()
    };
    let applied = run_on(
        &mut target,
        &[
            transaction(&[
                (0, "a", rename("tmp")),
                (1, "b", rename("a")),
                (0, "tmp", rename("b")),
            ]),
            transaction(&[(1, "a", MTU), (2, "c", MTU)]),
            transaction(&[(2, "c", Action::SetUp(Others::default()))]),
            transaction(&[(3, "d", MTU), (3, "d", Action::SetUp(Others::default()))]),
        ],
    );
    assert_eq!((applied.done, applied.undone, applied.skipped), (2, 2, 3));
    assert_eq!(applied.failures.len(), 1);
    for device in 0..3 {
        assert_eq!(applied.failure_of(device).unwrap().device, 0);
    }
    assert_eq!(applied.failure_of(3), None);
    assert_eq!(
        target.done[4..],
        ["set the MTU of d from 1500 to 1400", "set d up"]
    );
}

#[test]
fn an_undo_log_entry_survives_being_written_down() {
    let steps = transaction(&[
        (0, "eth0", rename("net1")),
        (0, "net1", MTU),
        (0, "net1", Action::SetUp(Others::default())),
        (0, "net1", add("2001:db8::5/64")),
    ]);
    for step in &steps.steps {
        let undo = Undo::of(step);
        let line = serde_json::to_string(&undo).unwrap();
        assert_eq!(serde_json::from_str::<Undo>(&line).unwrap(), undo, "{line}");
    }
}
