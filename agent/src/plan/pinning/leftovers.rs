//! What the agent pinned, by its journal, and nobody wants pinned any more: it is put back to what it was.

use device_attributes::PciAddress;

use super::{PinningWanted, Subject, transaction};
use crate::journal::Entry;
use crate::observe::{Interface, Observation};
use crate::plan::leftovers::was;
use crate::plan::reversal::pins::way_back;
use crate::plan::{Action, Pin, Step, Transaction};
use crate::policy::{Interrupts, Queues};

/// The steps that put back what of a device is not wanted any more.
pub(super) fn of_subject(subject: &Subject<'_>, observation: &Observation) -> Vec<Step> {
    let wanted = &subject.wanted.pinning;
    let index = subject.interface.map_or(0, |interface| interface.index);
    let entries = observation.journal.of_interface(index).iter();
    let entries = entries.filter(|entry| match &entry.first.action {
        Action::Pin(pin) => {
            let is_its_own = index != 0 || pin.function() == subject.function;
            is_its_own && !is_wanted(pin, wanted)
        }
        _ => false,
    });
    steps(entries, subject.device, subject.interface, observation)
}

fn is_wanted(pin: &Pin, wanted: &PinningWanted) -> bool {
    match pin {
        Pin::Channels { .. } => wanted.queues != Queues::Leave,
        Pin::Irqbalance { .. } | Pin::Interrupt { .. } => wanted.interrupts != Interrupts::Leave,
        Pin::Transmit { .. } => wanted.xps,
        Pin::Receive { .. } => wanted.rps,
        Pin::Flows { .. } => wanted.rfs.is_some(),
    }
}

/// What puts back what was pinned of devices that are none any more: a step of the first that is one.
pub(in crate::plan) fn of_no_device(
    subjects: &[Subject<'_>],
    observation: &Observation,
) -> Vec<Transaction> {
    let Some(first) = subjects.iter().map(|subject| subject.device).min() else {
        return Vec::new();
    };
    let functions: Vec<PciAddress> = subjects.iter().filter_map(|it| it.function).collect();
    let is_one = |index: u32| {
        let mut interfaces = subjects.iter().filter_map(|subject| subject.interface);
        interfaces.any(|interface| interface.index == index)
    };
    let indices = observation.journal.interfaces().filter(|it| !is_one(*it));
    let transactions = indices.filter_map(|index| {
        let entries = observation.journal.of_interface(index).iter();
        let entries = entries.filter(|entry| match &entry.first.action {
            Action::Pin(pin) => {
                index != 0 || !pin.function().is_some_and(|it| functions.contains(&it))
            }
            _ => false,
        });
        transaction(steps(
            entries,
            first,
            observation.interface(index),
            observation,
        ))
    });
    transactions.collect()
}

fn steps<'a>(
    entries: impl DoubleEndedIterator<Item = &'a Entry>,
    device: usize,
    interface: Option<&Interface>,
    observation: &Observation,
) -> Vec<Step> {
    // What came last goes first: channels after what was pinned of them.
    let entries = entries.rev();
    let steps = entries.filter_map(|entry| {
        let pin = way_back(entry, interface, observation)?;
        let before = pin.values().map_or_else(String::new, |(_, to)| to);
        let reason = match &pin {
            Pin::Irqbalance { .. } => "they are not pinned any more".to_owned(),
            _ => was(before),
        };
        Some(Step {
            device,
            interface: entry.first.interface,
            name: interface.map_or_else(|| entry.first.name.clone(), |it| it.name.clone()),
            action: Action::Pin(pin),
            reason,
            source: None,
        })
    });
    steps.collect()
}
