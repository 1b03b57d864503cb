//! What brings devices' interrupts and queues near them. A pure function, as the plan is.

mod interrupts;
pub(super) mod leftovers;
mod now;
mod queues;

use device_attributes::PciAddress;
use device_attributes::report::Reason;

use super::pin::Pin;
use super::{Action, Problem, Step, Transaction, Wanted};
use crate::numa::locality::named;
use crate::numa::{Clues, CpuList, Locality, Near, NotThere, locality};
use crate::observe::{Interface, Observation, Pinning};
use crate::policy::{Interrupts, Queues};
use now::of_locality;

pub use now::{Contested, PinnedInterrupt, PinnedQueue, PinningNow};

/// What a policy says of what serves a device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PinningWanted {
    /// Which CPUs serve its interrupts.
    pub interrupts: Interrupts,
    /// How many queues it has.
    pub queues: Queues,
    /// Whether its transmit queues are those of the CPUs near it.
    pub xps: bool,
    /// Whether what it receives is handed to the CPUs near it.
    pub rps: bool,
    /// How many flows each receive queue follows.
    pub rfs: Option<u32>,
}

impl PinningWanted {
    /// Whether anything is wanted.
    pub fn is_any(&self) -> bool {
        *self != Self::default()
    }
}

/// A device that was found.
#[derive(Debug, Clone)]
pub(super) struct Subject<'a> {
    /// Its place in the list of wanted devices.
    pub device: usize,
    pub wanted: &'a Wanted,
    pub interface: Option<&'a Interface>,
    pub function: Option<PciAddress>,
    /// The name that it has by then, for messages and for sysfs.
    pub name: String,
}

/// The interfaces under the names that they have by then, and the functions without one.
pub(super) fn subjects<'a>(
    interfaces: &[(usize, &'a Wanted, &'a Interface)],
    names: &[String],
    functions: &[(usize, &'a Wanted, PciAddress)],
) -> Vec<Subject<'a>> {
    let interfaces = interfaces.iter().zip(names);
    let interfaces = interfaces.map(|((device, wanted, interface), name)| Subject {
        device: *device,
        wanted,
        interface: Some(interface),
        function: interface.pci_address,
        name: name.clone(),
    });
    let functions = functions.iter().map(|(device, wanted, address)| Subject {
        device: *device,
        wanted,
        interface: None,
        function: Some(*address),
        name: address.to_string(),
    });
    interfaces.chain(functions).collect()
}

/// What one device needs.
#[derive(Debug, Default)]
pub(super) struct Needs {
    pub steps: Vec<Step>,
    pub problems: Vec<Problem>,
    /// What is wanted and what is; absent where nothing is wanted, or all that the guest has is near.
    pub now: Option<PinningNow>,
}

/// Plans one device.
pub(super) fn pinning(subject: &Subject<'_>, observation: &Observation) -> Needs {
    let mut needs = wanted(subject, observation);
    needs
        .steps
        .extend(leftovers::of_subject(subject, observation));
    needs
}

fn wanted(subject: &Subject<'_>, observation: &Observation) -> Needs {
    let Some(pinning) = &observation.pinning else {
        return Needs::default();
    };
    if !subject.wanted.pinning.is_any() {
        return Needs::default();
    }
    let place = place(subject, observation, pinning);
    if place == Ok(Locality::Everywhere) {
        return Needs::default();
    }
    let mut draft = Draft {
        subject,
        pinning,
        near: CpuList::new(),
        why: String::new(),
        needs: Needs::default(),
        now: of_locality(&place),
    };
    match place {
        Ok(Locality::Near(near)) => draft.plan(&near),
        // Told, and no fault.
        Ok(Locality::Everywhere | Locality::Unknown(_)) => {}
        Err(error) => draft.problem_of(Reason::InvalidAttributes, error.to_string()),
    }
    let Draft { needs, now, .. } = draft;
    Needs {
        now: Some(now),
        ..needs
    }
}

/// The transaction of a device's steps, of its own: a mask that cannot be set costs no address.
pub(super) fn transaction(steps: Vec<Step>) -> Option<Transaction> {
    (!steps.is_empty()).then_some(Transaction { steps })
}

fn place(
    subject: &Subject<'_>,
    observation: &Observation,
    pinning: &Pinning,
) -> Result<Locality, NotThere> {
    let function = subject.function;
    let vectors = function.and_then(|address| pinning.functions.get(&address));
    let of_function = function.and_then(|address| observation.pci_functions.get(&address));
    let clues = Clues {
        sysfs_node: (subject.interface)
            .and_then(|interface| interface.numa_node)
            .or_else(|| of_function.and_then(|function| function.numa_node)),
        local_cpus: vectors.and_then(|vectors| vectors.local_cpus.clone()),
        ..subject.wanted.clues.clone()
    };
    locality(&clues, &subject.wanted.host_to_guest, &pinning.topology)
}

/// What one device needs, while it is put together.
struct Draft<'a> {
    subject: &'a Subject<'a>,
    pinning: &'a Pinning,
    /// The CPUs near it that work may be given to.
    near: CpuList,
    /// Where it is and what says so, in words.
    why: String,
    needs: Needs,
    now: PinningNow,
}

impl Draft<'_> {
    fn plan(&mut self, near: &Near) {
        let topology = &self.pinning.topology;
        let kept_free = topology.isolated().union(&topology.without_tick);
        self.near = near.cpus.difference(&kept_free);
        if self.near.is_empty() {
            let why = if near.cpus.is_empty() {
                "the node has no CPU that is online"
            } else {
                "the kernel was told to keep the CPUs near it free (isolcpus=, nohz_full=, an isolated cpuset partition)"
            };
            self.now.unpinned = Some(why.to_owned());
            return;
        }
        self.now.cpus = Some(self.near.clone());
        let (cpus, nodes) = (named(&self.near), named(&near.nodes));
        self.why = format!("near it: {cpus} of {nodes}, by {}", near.by);
        queues::channels(self);
        // With other channels come other interrupts and queues: those are looked at after that.
        if self.needs.steps.is_empty() {
            interrupts::interrupts(self);
            queues::queues(self);
        }
    }

    /// The near CPU that a queue or an interrupt of this number has. Devices do not all begin with the
    /// same.
    fn in_turn(&self, number: usize) -> CpuList {
        let place = (self.subject.device + number) % self.near.len().max(1);
        self.near.iter().nth(place).into_iter().collect()
    }

    fn step(&mut self, pin: Pin, key: &str, reason: impl Into<String>) {
        let subject = self.subject;
        self.needs.steps.push(Step {
            device: subject.device,
            interface: subject.interface.map_or(0, |interface| interface.index),
            name: subject.name.clone(),
            action: Action::Pin(pin),
            reason: reason.into(),
            source: subject.wanted.sources.get(key).cloned(),
        });
    }

    fn problem(&mut self, message: impl Into<String>) {
        self.problem_of(Reason::ConfigurationFailed, message);
    }

    fn problem_of(&mut self, reason: Reason, message: impl Into<String>) {
        let message = message.into();
        self.needs.problems.push(Problem { reason, message });
    }
}
