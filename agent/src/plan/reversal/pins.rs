//! What becomes of what serves a device: its interrupts and its queues.

use super::back::Back;
use crate::apply::Undo;
use crate::journal::Entry;
use crate::observe::{Interface, Observation};
use crate::plan::pin::cpus;
use crate::plan::{Action, Pin, PinSubject};

/// What becomes of the thing of an entry; `interface` is the one whose it is, where it has one that is
/// still there. None for what is not pinned.
pub(super) fn pin_back(
    entry: &Entry,
    interface: Option<&Interface>,
    observation: &Observation,
) -> Option<Back> {
    let (Action::Pin(first), Action::Pin(last)) = (&entry.first.action, &entry.last().action)
    else {
        return None;
    };
    if entry.first.interface != 0 && interface.is_none() {
        // Its interrupts and queues went with it.
        return Some(Back::Already);
    }
    let name = interface.map_or(&entry.first.name, |interface| &interface.name);
    let undo = || {
        Back::Undo(Undo::Pin {
            interface: entry.first.interface,
            name: name.clone(),
            pin: first.reversed_after(last),
        })
    };
    Some(match now(first, interface, observation) {
        Now::NotLookedAt => Back::NotLookedAt,
        Now::Banned(true) => undo(),
        Now::Gone | Now::Banned(false) => Back::Already,
        Now::Is(now) => {
            let (first_from, first_to) = first.values().unwrap_or_default();
            let (last_from, last_to) = last.values().unwrap_or_default();
            if now == first_from {
                Back::Already
            } else if now == last_to || now == last_from {
                undo()
            } else {
                let what = first.what(name);
                Back::Left(format!(
                    "{what} stay {now}: others set them, after they were set from {first_from} to {first_to}"
                ))
            }
        }
    })
}

/// What puts a pin back to what it was before the agent; none where it is so already, or others have
/// changed it since.
pub(in crate::plan) fn way_back(
    entry: &Entry,
    interface: Option<&Interface>,
    observation: &Observation,
) -> Option<Pin> {
    match pin_back(entry, interface, observation)? {
        Back::Undo(Undo::Pin { pin, .. }) => Some(pin),
        _ => None,
    }
}

/// How the subject of a step is now.
enum Now {
    NotLookedAt,
    Gone,
    /// In the words of [`Pin::values`].
    Is(String),
    /// Whether irqbalance leaves any of them alone.
    Banned(bool),
}

fn now(pin: &Pin, interface: Option<&Interface>, observation: &Observation) -> Now {
    let Some(pinning) = &observation.pinning else {
        return Now::NotLookedAt;
    };
    let queues = || pinning.queues.get(&interface?.index);
    let place = |queue: u32| usize::try_from(queue).unwrap_or(usize::MAX);
    let found = |now: Option<String>| now.map_or(Now::Gone, Now::Is);
    match pin.subject() {
        PinSubject::Interrupt(function, number) => {
            let Some(vectors) = pinning.functions.get(&function) else {
                return Now::NotLookedAt;
            };
            let mut interrupts = vectors.interrupts.iter();
            let interrupt = interrupts.find(|interrupt| interrupt.number == number);
            found(interrupt.map(|interrupt| cpus(&interrupt.cpus)))
        }
        PinSubject::Irqbalance(_, interrupts) => {
            let banned = pinning.irqbalance.as_ref();
            let mut interrupts = interrupts.iter();
            Now::Banned(
                banned.is_some_and(|banned| interrupts.any(|number| banned.contains(number))),
            )
        }
        subject => {
            let Some(queues) = queues() else {
                return Now::NotLookedAt;
            };
            let transmit = |queue| queues.transmit.get(place(queue));
            let receive = |queue| queues.receive.get(place(queue));
            found(match subject {
                PinSubject::Transmit(queue) => transmit(queue).map(cpus),
                PinSubject::Receive(queue) => receive(queue).map(|queue| cpus(&queue.cpus)),
                PinSubject::Flows(queue) => receive(queue).map(|queue| queue.flows.to_string()),
                _ => (queues.channels).map(|channels| channels.combined.to_string()),
            })
        }
    }
}
