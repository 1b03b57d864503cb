//! The queues of an interface: how many, who sends by them, and who is handed what they receive.

use super::Draft;
use super::now::PinnedQueue;
use crate::numa::CpuList;
use crate::plan::pin::Pin;
use crate::policy::Queues;

/// How many.
pub(super) fn channels(draft: &mut Draft<'_>) {
    let subject = draft.subject;
    let policy = subject.wanted.pinning.queues;
    if policy == Queues::Leave {
        return;
    }
    let name = &subject.name;
    let queues =
        (draft.subject.interface).and_then(|interface| draft.pinning.queues.get(&interface.index));
    let Some(channels) = queues.and_then(|queues| queues.channels) else {
        // A device with one queue has as many as it can have.
        if let Queues::Count(count) = policy {
            draft.problem(format!(
                "{name} cannot have {count} queues: its driver has no combined channels"
            ));
        }
        return;
    };
    let to = match policy {
        Queues::Count(count) if count > channels.most => {
            let most = channels.most;
            draft.problem(format!(
                "{name} cannot have {count} queues: it has {most} combined channels at most"
            ));
            return;
        }
        Queues::Count(count) => count,
        Queues::Node | Queues::Leave => {
            let near = u32::try_from(draft.near.len()).unwrap_or(u32::MAX);
            near.min(channels.most)
        }
    };
    draft.now.channels = Some((to, channels.combined).into());
    if channels.combined != to {
        let from = channels.combined;
        let reason = match policy {
            Queues::Count(_) => "the policy says so".to_owned(),
            _ => format!("one for each that it can use: {}", draft.why),
        };
        draft.step(Pin::Channels { from, to }, "queues", reason);
    }
}

/// Who serves them.
pub(super) fn queues(draft: &mut Draft<'_>) {
    let subject = draft.subject;
    let (wanted, name) = (subject.wanted.pinning, &subject.name);
    let queues =
        (draft.subject.interface).and_then(|interface| draft.pinning.queues.get(&interface.index));
    let Some(queues) = queues else {
        if wanted.xps || wanted.rps || wanted.rfs.is_some() {
            draft.problem(format!("{name} is no network interface, and has no queues"));
        }
        return;
    };
    let reason = draft.why.clone();
    if wanted.xps {
        let count = queues.transmit.len();
        for (queue, is) in (0..).zip(&queues.transmit) {
            let to = senders(draft, queue, count);
            draft.now.transmit.push(PinnedQueue {
                wanted: Some(to.clone()),
                cpus: is.clone(),
            });
            if *is != to {
                let (queue, from) = (number(queue), is.clone());
                draft.step(Pin::Transmit { queue, from, to }, "xps", reason.clone());
            }
        }
    }
    if (wanted.rps || wanted.rfs.is_some()) && queues.receive.is_empty() {
        draft.problem(format!(
            "the kernel hands what {name} receives to no other CPU: it has no RPS"
        ));
        return;
    }
    if wanted.rps {
        for (queue, is) in (0..).zip(&queues.receive) {
            let to = draft.near.clone();
            draft.now.receive.push(PinnedQueue {
                wanted: Some(to.clone()),
                cpus: is.cpus.clone(),
            });
            if is.cpus != to {
                let from = is.cpus.clone();
                draft.step(Pin::Receive { queue, from, to }, "rps", reason.clone());
            }
        }
    }
    if let Some(to) = wanted.rfs {
        if to > 0 && draft.pinning.flow_entries == 0 {
            draft.problem(
                "receive flow steering does nothing while net.core.rps_sock_flow_entries is 0: set it, \
                 by sysctl.d(5), to as many flows as all devices have",
            );
        }
        for (queue, is) in (0..).zip(&queues.receive) {
            if is.flows != to {
                let from = is.flows;
                draft.step(Pin::Flows { queue, from, to }, "rfs", "the policy says so");
            }
        }
    }
}

/// The CPUs that send by a queue: each near CPU has a queue, and each queue a near CPU.
fn senders(draft: &Draft<'_>, queue: usize, queues: usize) -> CpuList {
    let near = draft.near.len();
    let of_queue = (queue..near.max(queue + 1)).step_by(queues.max(1));
    of_queue.fold(CpuList::new(), |all, turn| all.union(&draft.in_turn(turn)))
}

fn number(queue: usize) -> u32 {
    u32::try_from(queue).unwrap_or(u32::MAX)
}
