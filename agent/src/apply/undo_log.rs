//! The undo log: the steps that a transaction has made so far, here and in the journal.

use std::collections::{BTreeMap, VecDeque};
use std::iter;
use std::ptr;

use crate::journal::{Journal, Thing};
use crate::plan::Step;

/// The log of the transaction that is being made. The journal has it too: there a step is written before
/// it is made, and with it those that follow it, of this transaction and of the next.
#[derive(Debug)]
pub(super) struct UndoLog<'a> {
    /// The steps that are in the journal and not made yet, in their order.
    announced: VecDeque<&'a Step>,
    begun: Vec<&'a Step>,
    journal: &'a mut Journal,
}

impl<'a> UndoLog<'a> {
    pub(super) fn new(journal: &'a mut Journal) -> Self {
        Self {
            announced: VecDeque::new(),
            begun: Vec::new(),
            journal,
        }
    }

    /// Before a step is made; the others are to follow it, unless they are withdrawn.
    pub(super) fn begin(&mut self, step: &'a Step, following: impl Iterator<Item = &'a Step>) {
        if self.announced.is_empty() {
            self.announced = of_different_things(iter::once(step).chain(following));
            self.journal.begin(self.announced.iter().copied());
        }
        self.announced.pop_front();
        self.begun.push(step);
    }

    /// After a step that changed nothing.
    pub(super) fn retract(&mut self) {
        if let Some(step) = self.begun.pop() {
            self.journal.retract([step]);
        }
    }

    /// These steps, which would be the next, are not made.
    pub(super) fn withdraw(&mut self, steps: &[Step]) {
        let mut withdrawn = Vec::new();
        for step in steps {
            if let Some(next) = self.announced.pop_front_if(|next| ptr::eq(*next, step)) {
                withdrawn.push(next);
            }
        }
        self.journal.retract(withdrawn.into_iter().rev());
    }

    /// Once every step of a transaction is made.
    pub(super) fn finish(&mut self) {
        self.journal.settle(&self.begun);
        self.begun.clear();
    }

    /// The newest step. Once undone it is [`UndoLog::undone`].
    pub(super) fn take_last(&mut self) -> Option<&'a Step> {
        self.begun.pop()
    }

    /// After a step was undone. One that could not be undone stays in the journal, for `revert`.
    pub(super) fn undone(&mut self, step: &Step) {
        self.journal.retract([step]);
    }
}

/// The first steps, as far as no two change one thing.
fn of_different_things<'a>(steps: impl Iterator<Item = &'a Step>) -> VecDeque<&'a Step> {
    let mut of_interfaces: BTreeMap<u32, Vec<Thing>> = BTreeMap::new();
    steps
        .take_while(|step| {
            let things = of_interfaces.entry(step.interface).or_default();
            let thing = Thing::of(step);
            let is_new = !things.contains(&thing);
            things.push(thing);
            is_new
        })
        .collect()
}
