//! The undo log: the steps that a transaction has made so far, here and in the journal.

use std::slice;

use crate::journal::{Journal, Thing};
use crate::plan::Step;

/// The log of one transaction, which the journal has too: there a step is written before it is made,
/// and those that follow it with it.
#[derive(Debug)]
pub(super) struct UndoLog<'a> {
    /// The steps that are in the journal and not made yet, in their order.
    announced: &'a [Step],
    begun: Vec<&'a Step>,
    journal: &'a mut Journal,
}

impl<'a> UndoLog<'a> {
    pub(super) fn new(journal: &'a mut Journal) -> Self {
        Self {
            announced: &[],
            begun: Vec::new(),
            journal,
        }
    }

    /// Before the first of these steps is made; the others are to follow it.
    pub(super) fn begin(&mut self, steps: &'a [Step]) {
        if self.announced.is_empty() {
            self.announced = of_different_things(steps);
            self.journal.begin(self.announced);
        }
        if let Some((step, others)) = self.announced.split_first() {
            self.announced = others;
            self.begun.push(step);
        }
    }

    /// After a step that changed nothing.
    pub(super) fn retract(&mut self) {
        if let Some(step) = self.begun.pop() {
            self.journal.retract(slice::from_ref(step));
        }
    }

    /// After a step that failed: the steps that were to follow it are not made.
    pub(super) fn give_up(&mut self) {
        let others: Vec<Step> = self.announced.iter().rev().cloned().collect();
        self.announced = &[];
        self.journal.retract(&others);
    }

    /// Once every step is made.
    pub(super) fn finish(self) {
        let steps: Vec<Step> = self.begun.into_iter().cloned().collect();
        self.journal.settle(&steps);
    }

    /// The newest step. Once undone it is [`UndoLog::undone`].
    pub(super) fn take_last(&mut self) -> Option<&'a Step> {
        self.begun.pop()
    }

    /// After a step was undone. One that could not be undone stays in the journal, for `revert`.
    pub(super) fn undone(&mut self, step: &Step) {
        self.journal.retract(slice::from_ref(step));
    }
}

/// The first steps, as far as no two change one thing.
fn of_different_things(steps: &[Step]) -> &[Step] {
    let mut things = Vec::with_capacity(steps.len());
    let mut length = 0;
    for step in steps {
        let thing = Thing::of(step);
        if things.contains(&thing) {
            break;
        }
        things.push(thing);
        length += 1;
    }
    steps.get(..length).unwrap_or(steps)
}
