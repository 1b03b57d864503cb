//! The interrupts of a device.

use std::collections::BTreeMap;

use super::Draft;
use super::now::PinnedInterrupt;
use crate::numa::CpuList;
use crate::observe::{Fixed, Interrupt};
use crate::plan::pin::{Pin, ranges};
use crate::policy::Interrupts;

pub(super) fn interrupts(draft: &mut Draft<'_>) {
    let subject = draft.subject;
    let policy = subject.wanted.pinning.interrupts;
    let Some(function) = subject.function else {
        if policy != Interrupts::Leave {
            let name = &subject.name;
            draft.problem(format!(
                "{name} is on no PCI function, whose interrupts could be pinned"
            ));
        }
        return;
    };
    let Some(vectors) = draft.pinning.functions.get(&function) else {
        return;
    };
    if policy == Interrupts::Leave {
        return;
    }
    let mut left: BTreeMap<Fixed, Vec<u32>> = BTreeMap::new();
    let mut moved: Vec<(&Interrupt, CpuList)> = Vec::new();
    for (place, interrupt) in vectors.interrupts.iter().enumerate() {
        let wanted = match interrupt.fixed {
            Some(fixed) => {
                left.entry(fixed).or_default().push(interrupt.number);
                None
            }
            None if policy == Interrupts::Spread => Some(draft.in_turn(turn(interrupt, place))),
            None => Some(draft.near.clone()),
        };
        draft.now.interrupts.push(PinnedInterrupt {
            number: interrupt.number,
            wanted: wanted.clone(),
            cpus: interrupt.cpus.clone(),
            serving: interrupt.serving.clone(),
        });
        moved.extend(wanted.map(|wanted| (interrupt, wanted)));
    }
    for (fixed, numbers) in left {
        let why = match fixed {
            Fixed::Managed => "the kernel manages them, one for each CPU",
            Fixed::Shared => "other devices have them too",
        };
        let numbers = ranges(&numbers);
        draft.now.left.push(format!("interrupts {numbers}: {why}"));
    }
    if let Some(banned) = &draft.pinning.irqbalance {
        let numbers = moved.iter().map(|(interrupt, _)| interrupt.number);
        let interrupts: Vec<u32> = numbers.filter(|it| !banned.contains(it)).collect();
        if !interrupts.is_empty() {
            let pin = Pin::Irqbalance {
                function,
                interrupts,
                leaves: true,
            };
            draft.step(pin, "irq", "it runs, and would move them elsewhere");
        }
    }
    let reason = draft.why.clone();
    for (interrupt, to) in moved {
        if interrupt.cpus != to {
            let pin = Pin::Interrupt {
                function,
                interrupt: interrupt.number,
                from: interrupt.cpus.clone(),
                to,
            };
            draft.step(pin, "irq", reason.clone());
        }
    }
}

/// Which turn an interrupt has: that of its queue, whose transmissions its CPU then ends. The first of
/// those that have none is the device's own (`config`, `admin`).
fn turn(interrupt: &Interrupt, place: usize) -> usize {
    let queue = interrupt
        .queue
        .and_then(|queue| usize::try_from(queue).ok());
    queue.unwrap_or_else(|| place.saturating_sub(1))
}
