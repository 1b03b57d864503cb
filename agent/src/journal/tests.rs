//! What is read of a journal, whole or cut, and how it stays small.

use std::fs;

use super::*;
use crate::plan::{Action, Others};
use tempfile::TempDir;

fn roots(directory: &TempDir) -> Roots {
    Roots {
        run: directory.path().to_owned(),
        ..Roots::default()
    }
}

fn step(interface: u32, name: &str, action: Action) -> Step {
    Step {
        device: 0,
        interface,
        name: name.into(),
        action,
        source: None,
        reason: "the test says so".into(),
    }
}

fn rename(interface: u32, from: &str, to: &str) -> Step {
    step(interface, from, Action::Rename { to: to.into() })
}

fn mtu(from: u32, to: u32) -> Step {
    step(
        3,
        "eth0",
        Action::SetMtu {
            from,
            to,
            ipv6: None,
        },
    )
}

fn file(directory: &TempDir) -> PathBuf {
    directory.path().join("dra-guest/journal")
}

#[test]
fn what_was_begun_is_read_again_and_what_was_retracted_is_not() {
    let directory = TempDir::new().unwrap();
    let mut journal = Journal::open(&roots(&directory)).unwrap();
    journal.begin(&[rename(3, "eth0", "net1")]);
    journal.begin(&[mtu(1500, 1400)]);
    journal.begin(&[step(3, "net1", Action::SetUp(Others::default()))]);
    journal.retract(&[step(3, "net1", Action::SetUp(Others::default()))]);
    let again = Journal::open(&roots(&directory)).unwrap();
    assert_eq!(again.ledger(), journal.ledger());
    let things: Vec<_> = again
        .ledger()
        .entries()
        .map(|it| it.thing.clone())
        .collect();
    assert_eq!(things, [Thing::Name(3), Thing::Mtu(3)]);
    assert!(journal.take_trouble().is_none());
}

#[test]
fn a_second_pass_does_not_lose_the_first_ones_beginning() {
    let directory = TempDir::new().unwrap();
    for (from, to) in [("eth0", "net1"), ("net1", "net2"), ("net2", "net3")] {
        let mut journal = Journal::open(&roots(&directory)).unwrap();
        journal.begin(&[rename(3, from, to)]);
    }
    let journal = Journal::open(&roots(&directory)).unwrap();
    let entry = journal.ledger().entries().next().unwrap();
    assert_eq!(entry.first.name, "eth0");
    assert_eq!(*entry.last(), rename(3, "net2", "net3"));
}

#[test]
fn a_journal_that_was_cut_anywhere_is_read_as_far_as_it_goes() {
    let directory = TempDir::new().unwrap();
    let mut journal = Journal::open(&roots(&directory)).unwrap();
    let steps = [rename(3, "eth0", "größe"), mtu(1500, 1400), mtu(1400, 1300)];
    journal.begin(&steps[..1]);
    journal.begin(&steps[1..]);
    let whole = fs::read(file(&directory)).unwrap();
    let ends: Vec<usize> = (0..whole.len()).filter(|at| whole[*at] == b'\n').collect();
    for length in 0..whole.len() {
        fs::write(file(&directory), &whole[..length]).unwrap();
        let mut cut = Journal::open(&roots(&directory)).unwrap();
        let lines = ends.iter().filter(|end| **end < length).count();
        let mut expected = Ledger::default();
        for step in steps.iter().take(lines.saturating_sub(1)) {
            expected.begin(step);
        }
        assert_eq!(*cut.ledger(), expected, "{length}");
        // What is written next is not lost in the cut line.
        cut.begin(&[step(4, "eth1", Action::SetUp(Others::default()))]);
        let after = Journal::open(&roots(&directory)).unwrap();
        assert_eq!(after.ledger(), cut.ledger(), "{length}");
    }
}

#[test]
fn another_boots_journal_says_nothing() {
    let directory = TempDir::new().unwrap();
    let mut journal = Journal::open(&roots(&directory)).unwrap();
    journal.begin(&[mtu(1500, 1400)]);
    let text = fs::read_to_string(file(&directory)).unwrap();
    fs::write(
        file(&directory),
        text.replace("{\"bootId\":\"", "{\"bootId\":\"x"),
    )
    .unwrap();
    assert!(
        Journal::open(&roots(&directory))
            .unwrap()
            .ledger()
            .is_empty()
    );
}

#[test]
fn any_bytes_are_read_without_a_panic() {
    let directory = TempDir::new().unwrap();
    let mut journal = Journal::open(&roots(&directory)).unwrap();
    journal.begin(&[mtu(1500, 1400)]);
    let good = fs::read(file(&directory)).unwrap();
    for more in [
        &b"{}\n"[..],
        b"\xff\n",
        b"\n\n",
        b"{\"begin\":{}}\n",
        b"[[[[[[\n",
        b"null\n",
    ] {
        fs::write(file(&directory), [&good, more].concat()).unwrap();
        let read = Journal::open(&roots(&directory)).unwrap();
        assert_eq!(read.ledger(), journal.ledger());
    }
}

#[test]
fn a_repair_that_is_done_for_ever_does_not_fill_the_memory() {
    let directory = TempDir::new().unwrap();
    for _ in 0..40 {
        let mut journal = Journal::open(&roots(&directory)).unwrap();
        for number in 0..50 {
            journal.begin(&[mtu(1500 + number, 1400)]);
            journal.begin(&[step(3, "eth0", Action::SetUp(Others::default()))]);
            journal.retract(&[step(3, "eth0", Action::SetUp(Others::default()))]);
        }
    }
    let length = fs::metadata(file(&directory)).unwrap().len();
    assert!(length < 40_000, "{length}");
    let journal = Journal::open(&roots(&directory)).unwrap();
    let entry = journal.ledger().entries().next().unwrap();
    assert_eq!(entry.first, mtu(1500, 1400));
}

#[test]
fn nothing_left_is_no_file_left() {
    let directory = TempDir::new().unwrap();
    let mut journal = Journal::open(&roots(&directory)).unwrap();
    journal.begin(&[mtu(1500, 1400)]);
    journal.begin(&[rename(3, "eth0", "net1")]);
    journal.retain(|thing| *thing == Thing::Mtu(3)).unwrap();
    assert_eq!(
        Journal::open(&roots(&directory)).unwrap().ledger().lines(),
        1
    );
    journal.retain(|_| false).unwrap();
    assert!(!file(&directory).exists());
    journal.begin(&[mtu(1500, 1400)]);
    assert!(file(&directory).exists());
}

#[test]
fn a_journal_that_cannot_be_written_says_so_once_and_tries_again() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("dra-guest"), "in the way").unwrap();
    let mut journal = Journal {
        path: file(&directory),
        keep: true,
        ..Journal::nowhere()
    };
    journal.begin(&[mtu(1500, 1400)]);
    let trouble = journal.take_trouble().unwrap().to_string();
    assert!(
        trouble.contains("cannot write ") && trouble.contains("revert will lack"),
        "{trouble}"
    );
    fs::remove_file(directory.path().join("dra-guest")).unwrap();
    journal.begin(&[mtu(1400, 1300)]);
    assert!(journal.take_trouble().is_none());
    let text = fs::read_to_string(file(&directory)).unwrap();
    assert_eq!(text.lines().count(), 3, "{text}");
}
