//! What the journal has of steps, before they are made and after.

use super::*;

/// Reads the journal whenever a step is to be made: what `revert` would find, were the agent killed there.
struct Killed<'a> {
    roots: &'a Roots,
    refused: &'a str,
    not_written: Vec<String>,
}

impl Target for Killed<'_> {
    type Error = String;

    async fn make(&mut self, step: &Step) -> Result<Outcome, StepError<String>> {
        let journal = Journal::open(self.roots).unwrap();
        let mut entries = journal.ledger().entries();
        if !entries.any(|entry| entry.last() == step) {
            self.not_written.push(step.to_string());
        }
        if step.to_string() == self.refused {
            let (error, changed) = (self.refused.to_owned(), false);
            return Err(StepError { error, changed });
        }
        Ok(Outcome::Changed)
    }

    async fn undo(&mut self, _: &Undo) -> Result<(), String> {
        Ok(())
    }
}

#[test]
fn the_journal_has_each_step_before_it_is_made_and_none_that_does_not_stand() {
    let directory = tempfile::tempdir().unwrap();
    let roots = Roots {
        run: directory.path().to_owned(),
        ..Roots::default()
    };
    let of = |interface: u32, steps: &[(usize, &str, Action)]| {
        let mut transaction = transaction(steps);
        for step in &mut transaction.steps {
            step.interface = interface;
        }
        transaction
    };
    let mut target = Killed {
        roots: &roots,
        refused: "set b up",
        not_written: Vec::new(),
    };
    let transactions = [
        of(
            2,
            &[(0, "a", rename("t")), (0, "t", MTU), (0, "t", rename("c"))],
        ),
        of(
            3,
            &[
                (1, "b", MTU),
                (1, "b", Action::SetUp(Others::default())),
                (1, "b", add("192.0.2.5/24")),
            ],
        ),
        // Of a device that has fallen by then.
        of(3, &[(1, "b", add("192.0.2.6/24"))]),
        of(4, &[(2, "d", Action::SetUp(Others::default()))]),
    ];
    let mut journal = Journal::open(&roots).unwrap();
    let applied = crate::pause::block_on(run(&mut target, &mut journal, &transactions));
    assert_eq!((applied.done, applied.undone, applied.skipped), (4, 1, 2));
    assert_eq!(target.not_written, [""; 0]);
    let left = Journal::open(&roots).unwrap();
    assert_eq!(left.ledger(), journal.ledger());
    let steps = left.ledger().steps().map(ToString::to_string);
    assert_eq!(
        steps.collect::<Vec<String>>(),
        [
            "rename a to t",
            "rename t to c",
            "set the MTU of t from 1500 to 1400",
            "set d up"
        ]
    );
}

#[test]
fn steps_that_follow_one_another_are_one_write() {
    let directory = tempfile::tempdir().unwrap();
    let roots = Roots {
        run: directory.path().to_owned(),
        ..Roots::default()
    };
    let mut journal = Journal::open(&roots).unwrap();
    let transactions = [
        transaction(&[(0, "a", rename("c"))]),
        transaction(&[(0, "c", MTU), (0, "c", Action::SetUp(Others::default()))]),
    ];
    let steps: Vec<&Step> = (transactions.iter().flat_map(|it| &it.steps)).collect();
    let mut log = UndoLog::new(&mut journal);
    log.begin(steps[0], steps[1..].iter().copied());
    let after_the_first = std::fs::read(directory.path().join("dra-guest/journal")).unwrap();
    log.finish();
    log.begin(steps[1], steps[2..].iter().copied());
    log.begin(steps[2], std::iter::empty());
    log.finish();
    let after_all = std::fs::read(directory.path().join("dra-guest/journal")).unwrap();
    assert_eq!(after_the_first, after_all);
    assert_eq!(journal.ledger().entries().count(), 3);
}
