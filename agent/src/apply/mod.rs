//! The execution of a plan: transaction by transaction, each of which stands or falls as a whole.

mod address;
mod down;
mod ipv6_settings;
mod kernel;
mod pin;
mod source_address;
mod sysctl;
#[cfg(test)]
mod tests;
mod undo;
mod undo_log;

use std::collections::BTreeSet;

use kernel::Kernel;
pub use undo::Undo;
use undo_log::UndoLog;

use crate::journal::Journal;
use crate::netlink::{Netlink, NetlinkError};
use crate::plan::{Step, Transaction};
use crate::roots::Roots;

/// What came of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied<E = NetlinkError> {
    /// How many steps were made and stand.
    pub done: usize,
    /// How many steps were made and taken back.
    pub undone: usize,
    /// How many steps were not tried, since a device of their transaction had failed.
    pub skipped: usize,
    /// One for each transaction that was tried and fell.
    pub failures: Vec<Failure<E>>,
    /// What the kernel does for nobody.
    pub refused: Refused,
}

/// What the kernel turned out to do for nobody: it need not be asked again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Refused {
    /// The interrupts that it does not let anyone move.
    pub interrupts: BTreeSet<u32>,
    /// Whether it has no alternative names.
    pub alternative_names: bool,
}

impl Refused {
    /// Adds what turned out since.
    pub fn extend(&mut self, other: Self) {
        self.interrupts.extend(other.interrupts);
        self.alternative_names |= other.alternative_names;
    }
}

/// A transaction that fell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure<E = NetlinkError> {
    /// The device of the step that failed, by its place in the list of wanted devices.
    pub device: usize,
    /// The step that failed.
    pub step: Step,
    /// Why.
    pub error: E,
    /// Why what was done before it could not all be taken back; empty when it was.
    pub undo_errors: Vec<E>,
    /// The devices that fell with it, since their steps stand in one transaction with its own.
    pub with: BTreeSet<usize>,
}

impl<E> Applied<E> {
    /// The failure that a device has part in.
    pub fn failure_of(&self, device: usize) -> Option<&Failure<E>> {
        let has_part = |failure: &&Failure<E>| failure.concerns(device);
        self.failures.iter().find(has_part)
    }
}

impl<E> Failure<E> {
    fn concerns(&self, device: usize) -> bool {
        self.device == device || self.with.contains(&device)
    }
}

/// Makes the steps of a plan.
///
/// When a step fails, those of its transaction are taken back, newest first, and every device that
/// the transaction has steps for has failed. Later transactions of such a device are skipped; the
/// others are made.
pub async fn apply(
    netlink: &Netlink,
    roots: &Roots,
    journal: &mut Journal,
    transactions: &[Transaction],
) -> Applied {
    let mut kernel = Kernel::new(netlink, roots);
    let mut applied = run(&mut kernel, journal, transactions).await;
    applied.refused = kernel.refused;
    applied
}

/// Takes one step back.
///
/// # Errors
/// When the kernel refuses, or does not answer.
pub async fn undo(netlink: &Netlink, roots: &Roots, undo: &Undo) -> Result<(), NetlinkError> {
    Kernel::new(netlink, roots).undo(undo).await
}

/// What came of a step that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// The kernel's state changed.
    Changed,
    /// It was so already: there is nothing to take back.
    AlreadySo,
}

/// A step that failed.
struct StepError<E> {
    error: E,
    /// Whether it changed something all the same, which has to be taken back.
    changed: bool,
}

/// What steps are made to.
trait Target {
    type Error;
    async fn make(&mut self, step: &Step) -> Result<Outcome, StepError<Self::Error>>;
    async fn undo(&mut self, undo: &Undo) -> Result<(), Self::Error>;
}

async fn run<T: Target>(
    target: &mut T,
    journal: &mut Journal,
    transactions: &[Transaction],
) -> Applied<T::Error> {
    let mut applied = Applied {
        done: 0,
        undone: 0,
        skipped: 0,
        failures: Vec::new(),
        refused: Refused::default(),
    };
    let mut log = UndoLog::new(journal);
    for (place, transaction) in transactions.iter().enumerate() {
        let devices = transaction.steps.iter().map(|step| step.device);
        let devices: BTreeSet<usize> = devices.collect();
        let fallen = (applied.failures.iter_mut())
            .find(|failure| devices.iter().any(|device| failure.concerns(*device)));
        if let Some(failure) = fallen {
            log.withdraw(&transaction.steps);
            applied.skipped += transaction.steps.len();
            failure.fell_with(devices);
            continue;
        }
        let later = transactions.get(place + 1..).unwrap_or_default();
        run_transaction(target, &mut log, transaction, later, devices, &mut applied).await;
    }
    applied
}

async fn run_transaction<'a, T: Target>(
    target: &mut T,
    log: &mut UndoLog<'a>,
    transaction: &'a Transaction,
    later: &'a [Transaction],
    devices: BTreeSet<usize>,
    applied: &mut Applied<T::Error>,
) {
    let mut made = 0;
    for (place, step) in transaction.steps.iter().enumerate() {
        let rest = transaction.steps.get(place + 1..).unwrap_or_default();
        let following = later.iter().flat_map(|transaction| &transaction.steps);
        log.begin(step, rest.iter().chain(following));
        match target.make(step).await {
            Ok(Outcome::Changed) => made += 1,
            Ok(Outcome::AlreadySo) => {
                log.retract();
                made += 1;
            }
            Err(StepError { error, changed }) => {
                log.withdraw(rest);
                if !changed {
                    log.retract();
                }
                let mut failure = Failure {
                    device: step.device,
                    step: step.clone(),
                    error,
                    undo_errors: Vec::new(),
                    with: BTreeSet::new(),
                };
                failure.fell_with(devices);
                while let Some(step) = log.take_last() {
                    match target.undo(&Undo::of(step)).await {
                        Ok(()) => log.undone(step),
                        // One that cannot be taken back does not keep the others.
                        Err(error) => failure.undo_errors.push(error),
                    }
                }
                applied.undone += made;
                applied.skipped += rest.len();
                applied.failures.push(failure);
                return;
            }
        }
    }
    log.finish();
    applied.done += made;
}

impl<E> Failure<E> {
    fn fell_with(&mut self, devices: BTreeSet<usize>) {
        self.with.extend(devices);
        self.with.remove(&self.device);
    }
}
