//! Kubernetes Events on the VM when the readiness of one of its devices turns: what `kubectl describe vmi` shows.
//!
//! No claim waits for an Event, and a guest that turns all the time costs few: each VM has a bucket of its own, the
//! node has one, and turns that are alike become one Event with a count.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use device_attributes::Name;
use device_attributes::report::Reason;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tracing::{debug, info, warn};

use super::apply::FIELD_MANAGER;
use super::index::User;
use super::refusal::{self, Right};
use super::turns::Turn;
use crate::monitoring::labels::{EventOutcome, FailureReason, Operation};
use crate::monitoring::metrics;
use crate::plain_text::plain;
use crate::rate::Rate;
use crate::statement::Status;
use crate::store::ClaimName;

/// Of one VM: so many at once, as at its boot, and one each interval in the long run.
const VM_BURST: u32 = 25;
const VM_INTERVAL: Duration = Duration::from_mins(1);
/// Of all VMs of the node.
const NODE_BURST: u32 = 100;
const NODE_INTERVAL: Duration = Duration::from_secs(1);
/// The most that wait to be sent.
const QUEUE: usize = 128;
/// The longest that an answer is waited for.
const ANSWER: Duration = Duration::from_secs(10);
/// The most bytes of a note (`noteLengthLimit` of events.k8s.io/v1).
const NOTE_BYTES: usize = 1024;

/// The right that Events take.
pub const RIGHT: Right = Right("events.k8s.io", "events", "\"create\", \"patch\"");

/// Where turns are told. It is cheap to clone, and never waits.
#[derive(Debug, Clone)]
pub struct Events {
    queue: mpsc::Sender<(Event, ObjectReference)>,
    known: Arc<Mutex<Known>>,
}

#[derive(Debug)]
struct Known {
    /// Claim → UIDs of the VMs that have it.
    vms_of: HashMap<ClaimName, Vec<Name>>,
    vms: HashMap<Name, Vm>,
    of_node: Rate,
}

#[derive(Debug)]
struct Vm {
    object: ObjectReference,
    rate: Rate,
    /// How many claims it has.
    claims: usize,
}

/// Sends what is told to [`Events`].
pub struct Sender {
    client: Client,
    reporter: Reporter,
    queue: mpsc::Receiver<(Event, ObjectReference)>,
}

impl std::fmt::Debug for Sender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sender")
            .field("reporter", &self.reporter)
            .finish_non_exhaustive()
    }
}

/// Both ends: where turns are told, and what sends them.
pub fn channel(client: Client, node: &Name) -> (Events, Sender) {
    let (sender, receiver) = mpsc::channel(QUEUE);
    let known = Known {
        vms_of: HashMap::new(),
        vms: HashMap::new(),
        of_node: Rate::new(NODE_INTERVAL, NODE_BURST),
    };
    let events = Events {
        queue: sender,
        known: Arc::new(Mutex::new(known)),
    };
    let sender = Sender {
        client,
        reporter: Reporter {
            controller: FIELD_MANAGER.to_owned(),
            instance: Some(node.to_string()),
        },
        queue: receiver,
    };
    (events, sender)
}

impl Events {
    /// From now on the turns of the claim are told on these VMs.
    pub fn set_users(&self, claim: &ClaimName, users: &[User]) {
        let mut known = self.known();
        let Known { vms_of, vms, .. } = &mut *known;
        let earlier = vms_of.remove(claim).unwrap_or_default();
        for user in users {
            let vm = vms.entry(user.vm.clone()).or_insert_with(|| Vm {
                object: object(&claim.namespace, user),
                rate: Rate::new(VM_INTERVAL, VM_BURST),
                claims: 0,
            });
            vm.claims += 1;
        }
        // Those that stay were counted anew: their rates stay with them.
        for uid in earlier {
            if let Entry::Occupied(mut vm) = vms.entry(uid) {
                vm.get_mut().claims -= 1;
                if vm.get().claims == 0 {
                    vm.remove();
                }
            }
        }
        if !users.is_empty() {
            let uids = users.iter().map(|user| user.vm.clone());
            vms_of.insert(claim.clone(), uids.collect());
        }
    }

    /// Tells the turns of a claim's devices, as far as the rates have room.
    pub fn tell(&self, claim: &ClaimName, turns: &[Turn]) {
        if turns.is_empty() {
            return;
        }
        let mut known = self.known();
        let Known {
            vms_of,
            vms,
            of_node,
        } = &mut *known;
        for uid in vms_of.get(claim).into_iter().flatten() {
            let Some(vm) = vms.get_mut(uid) else { continue };
            for turn in turns {
                let is_told = vm.rate.try_take()
                    && of_node.try_take()
                    && self
                        .queue
                        .try_send((event(claim, turn), vm.object.clone()))
                        .is_ok();
                if !is_told {
                    metrics::event(EventOutcome::HeldBack);
                }
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn object(namespace: &Name, user: &User) -> ObjectReference {
    ObjectReference {
        api_version: Some("kubevirt.io/v1".to_owned()),
        kind: Some("VirtualMachineInstance".to_owned()),
        namespace: Some(namespace.to_string()),
        name: Some(user.name.to_string()),
        uid: Some(user.vm.to_string()),
        ..ObjectReference::default()
    }
}

fn event(claim: &ClaimName, turn: &Turn) -> Event {
    let Turn {
        request,
        driver,
        pool,
        device,
        status,
        reason,
        message,
    } = turn;
    let of = if request.is_empty() {
        format!("claim {claim}, device {device} of {driver}")
    } else {
        format!("claim {claim}, request {request}")
    };
    let note = if message.is_empty() {
        of
    } else {
        format!("{of}: {message}")
    };
    let is_as_expected = status == Status::True.as_str() || *reason == Reason::Pending.to_string();
    Event {
        type_: if is_as_expected {
            EventType::Normal
        } else {
            EventType::Warning
        },
        reason: reason.clone(),
        note: Some(plain(&note, NOTE_BYTES)),
        action: "GuestReport".to_owned(),
        // Turns of different devices are never one Event.
        secondary: Some(ObjectReference {
            api_version: Some("resource.k8s.io/v1".to_owned()),
            kind: Some("ResourceClaim".to_owned()),
            namespace: Some(claim.namespace.to_string()),
            name: Some(claim.name.to_string()),
            field_path: Some(format!("status.devices{{{driver}/{pool}/{device}}}")),
            ..ObjectReference::default()
        }),
    }
}

impl Sender {
    /// Sends for as long as the relay runs, one Event after the other. What the API server does not take is not
    /// sent again: the condition on the claim says it, too.
    pub async fn serve(mut self) {
        let mut recorder = self.recorder();
        let mut last_failure = None;
        while let Some((event, vm)) = self.queue.recv().await {
            let mut sent = publish(&recorder, &event, &vm).await;
            if matches!(sent, Err((FailureReason::NotFound, _))) {
                // The Event that this one is counted on is gone: a recorder that knows none makes one.
                recorder = self.recorder();
                sent = publish(&recorder, &event, &vm).await;
            }
            let failure = match sent {
                Ok(()) => {
                    metrics::event(EventOutcome::Sent);
                    None
                }
                Err((reason, words)) => {
                    metrics::failure(Operation::Event, reason);
                    metrics::event(EventOutcome::Failed);
                    debug!("events: {words}");
                    Some((reason, words))
                }
            };
            let reason = failure.as_ref().map(|(reason, _)| *reason);
            if reason != last_failure {
                if let Some((_, words)) = failure {
                    warn!("events: {words}; claims are written all the same");
                } else {
                    info!("events: the API server takes them again");
                }
                last_failure = reason;
            }
        }
    }

    fn recorder(&self) -> Recorder {
        Recorder::new(self.client.clone(), self.reporter.clone())
    }
}

async fn publish(
    recorder: &Recorder,
    event: &Event,
    vm: &ObjectReference,
) -> Result<(), (FailureReason, String)> {
    metrics::request(Operation::Event);
    match timeout(ANSWER, recorder.publish(event, vm)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err((refusal::reason(&error), refusal::words(&error, RIGHT))),
        Err(_) => Err((
            FailureReason::Timeout,
            format!("the API server has not answered for {} s", ANSWER.as_secs()),
        )),
    }
}

#[cfg(test)]
mod tests;
