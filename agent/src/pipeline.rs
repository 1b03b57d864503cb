//! One pass of the pipeline: observe → plan → apply → verify.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use device_attributes::read::Reading;
use tokio::time::Instant;

use crate::apply::{self, Failure};
use crate::concern::Concern;
use crate::exit::Ended;
use crate::extent::{self, Extent};
use crate::journal::Journal;
use crate::lock::{Lock, LockError};
use crate::memory::Memory;
use crate::netlink::{Netlink, Routes};
use crate::numa::Places;
use crate::observe::{Observation, observe};
use crate::owners::Standing;
use crate::pause::pause;
use crate::plan::reversal::reversal;
use crate::plan::{self, Action, Plan, Step, Wanted};
use crate::policy::Policy;
use crate::report::DeviceStatus;
use crate::roots::Roots;
use crate::{log, udev, verify};

/// The time between two looks at duplicate address detection.
const PAUSE: Duration = Duration::from_millis(100);

/// How often steps are made and looked at in one pass, where they give a device other interrupts.
const ROUNDS: usize = 3;

/// What is wanted, what the guest has, and what turns the one into the other.
#[derive(Debug)]
pub struct Draft {
    /// The wanted devices.
    pub wanted: Vec<Wanted>,
    /// The look at the kernel that the plan was made from.
    pub observation: Observation,
    /// The plan.
    pub plan: Plan,
}

/// Observes and plans, and changes nothing.
///
/// # Errors
/// When the kernel cannot be asked.
pub async fn draft(
    netlink: &Netlink,
    roots: &Roots,
    journal: &Journal,
    policy: &Policy,
    reading: &Reading,
    memory: &Memory,
) -> Result<Draft, Ended> {
    let wanted = plan::wanted(reading, policy);
    let observation = look(netlink, roots, journal, &wanted, memory).await?;
    let plan = plan::plan(&wanted, &observation);
    Ok(Draft {
        wanted,
        observation,
        plan,
    })
}

/// What a pass found in the end.
#[derive(Debug)]
pub struct Passed {
    /// What became of each device, the broken entries of the document among them.
    pub devices: Vec<DeviceStatus>,
    /// Whether all of them are ready that the policy requires.
    pub ready: bool,
    /// Whether nothing is under way in the kernel that may still turn out badly: duplicate address
    /// detection of a device's address, which takes seconds.
    pub settled: bool,
    /// What changes are the reason for another pass.
    pub concern: Concern,
    /// Whether steps were left to another pass, which is to follow at once.
    pub goes_on: bool,
}

/// Brings the devices into the wanted state and says what became of each.
///
/// Every step is told, unless the plan of the pass before was the same: what fails every half minute is
/// no news. `patience` is for duplicate address detection: one that has begun is waited for as long. `extent` says how
/// far it goes.
///
/// # Errors
/// When the kernel cannot be asked; what it refuses for one device is in that device's report.
pub async fn pass(
    netlink: &Netlink,
    roots: &Roots,
    policy: &Policy,
    reading: &Reading,
    memory: &mut Memory,
    patience: Duration,
    extent: Extent,
) -> Result<Passed, Ended> {
    let _lock = lock(roots).await?;
    let (mut journal, mut trouble) = match Journal::open(roots) {
        Ok(journal) => (journal, None),
        Err(error) => (Journal::nowhere(), Some(error)),
    };
    let places = Places::new(&roots.sys, &reading.document, policy.host_nodes());
    let mut drafted = draft(netlink, roots, &journal, policy, reading, memory).await?;
    let units = memory.units(roots, &drafted, &places);
    let is_whole = reading.rejected.is_empty();
    let told = memory
        .hand_over(roots, &drafted, units.clone(), is_whole)
        .await;
    if udev::settle(roots, &drafted.changing()).await || told {
        drafted = draft(netlink, roots, &journal, policy, reading, memory).await?;
    }
    let Draft {
        mut wanted,
        mut observation,
        mut plan,
    } = drafted;
    let standing = Standing::look(roots, &wanted, &observation, &plan);
    let mut failures = memory.held_back(roots, &wanted, &plan, &standing);
    drop_failed(&mut plan, &failures);
    let mut deferred = extent::defer(&mut plan, &wanted, extent);
    // With nothing to do the observation is as fresh as one can be.
    if !plan.transactions.is_empty() {
        tell_steps(&plan, plan != memory.plan);
        if let Some(trouble) = trouble.take() {
            tracing::warn!("{trouble}: revert will lack what is done now");
        }
        let mut todo = Cow::from(&plan.transactions);
        for _ in 0..ROUNDS {
            let taken_back = reversal(journal.ledger(), &observation);
            journal.forget_all_but(&taken_back.open);
            let applied = apply::apply(netlink, roots, &mut journal, &todo).await;
            for place in 0..wanted.len() {
                if let Some(failure) = applied.failure_of(place) {
                    failures.insert(place, words(failure));
                }
            }
            memory.refused.extend(applied.refused);
            observation = look(netlink, roots, &journal, &wanted, memory).await?;
            if !todo.iter().flat_map(|it| &it.steps).any(renews_interrupts) {
                break;
            }
            let mut next = plan::plan(&wanted, &observation);
            drop_failed(&mut next, &failures);
            deferred.extend(extent::defer(&mut next, &wanted, extent));
            if next.transactions.is_empty() {
                break;
            }
            tell_steps(&next, true);
            todo = next.transactions.into();
        }
        if let Some(trouble) = journal.take_trouble() {
            tracing::warn!("{trouble}");
        }
    }
    if plan.steps().any(is_new_mac) {
        // The managers know some interfaces by the MAC that they have.
        let after = Draft {
            plan: plan::plan(&wanted, &observation),
            wanted,
            observation,
        };
        memory.hand_over(roots, &after, units, is_whole).await;
        (wanted, observation) = (after.wanted, after.observation);
    }
    let end = Instant::now() + patience;
    while verify::is_detecting(&wanted, &observation) && Instant::now() < end {
        pause(PAUSE).await;
        observation = look(netlink, roots, &journal, &wanted, memory).await?;
    }
    let mut devices = verify::verify(&wanted, &observation, &failures);
    let goes_on = extent::mark(&mut devices, &deferred, &failures);
    let mut required = devices.iter().zip(&wanted);
    let ready = required.all(|(device, wanted)| device.report.ready || wanted.optional);
    for (place, (device, wanted)) in devices.iter_mut().zip(&wanted).enumerate() {
        if device.report.ready {
            memory.reached(wanted, plan.devices.get(place));
        }
        device.locate(place, &places);
        add_words(&mut device.report.message, &standing.words(place));
        tell_pins(device, memory, wanted, &observation);
    }
    memory.retain(&wanted);
    memory.seen(&plan, &observation);
    memory.is_silent = observation.pinning.is_some() || wanted.iter().any(Wanted::has_sysctls);
    let rejected = reading.rejected.iter().map(verify::rejected);
    devices.extend(rejected.map(DeviceStatus::from));
    let concern = Concern::of(&observation, &plan);
    memory.plan = plan;
    Ok(Passed {
        devices,
        ready: ready && is_whole,
        settled: verify::is_settled(&wanted, &observation),
        concern,
        goes_on,
    })
}

impl Draft {
    /// The interfaces that have steps.
    fn changing(&self) -> Vec<u32> {
        self.plan.steps().map(|step| step.interface).collect()
    }
}

/// What serves the device, and who contests it.
fn tell_pins(device: &mut DeviceStatus, memory: &Memory, wanted: &Wanted, now: &Observation) {
    if let Some((told, pinning)) = device.pinning.as_mut().zip(now.pinning.as_ref()) {
        told.contested = memory.contested(wanted, pinning);
        add_words(&mut device.report.message, &told.words());
    }
}

fn add_words(message: &mut String, words: &str) {
    if !words.is_empty() {
        if !message.is_empty() {
            message.push_str("; ");
        }
        message.push_str(words);
    }
}

/// Without the transactions of devices that have failed.
fn drop_failed(plan: &mut Plan, failures: &BTreeMap<usize, String>) {
    plan.transactions.retain(|transaction| {
        let mut steps = transaction.steps.iter();
        !steps.any(|step| failures.contains_key(&step.device))
    });
}

fn tell_steps(plan: &Plan, is_news: bool) {
    log::together(|| {
        for step in plan.steps() {
            if is_news {
                tracing::info!("{step}: {}", step.reason);
            } else {
                tracing::debug!("{step}: {}", step.reason);
            }
        }
    });
}

/// Whether an interface has other interrupts after it, or has them at all: with its channels, and once
/// it is up.
fn renews_interrupts(step: &Step) -> bool {
    match &step.action {
        Action::Pin(pin) => pin.renews_interrupts(),
        Action::SetUp(_) => true,
        _ => false,
    }
}

fn is_new_mac(step: &Step) -> bool {
    matches!(step.action, Action::SetMacAddress { .. })
}

/// The lock that keeps another pass from what this one is at. Where the file system gives none, as
/// in a full `/run`, a device is not left without configuration for it.
async fn lock(roots: &Roots) -> Result<Option<Lock>, Ended> {
    match Lock::for_pass(roots).await {
        Ok(lock) => Ok(Some(lock)),
        Err(error @ LockError::Held(_)) => Err(Ended::failed(error)),
        Err(error) => {
            tracing::warn!("{error}");
            Ok(None)
        }
    }
}

/// A look at the kernel, and at what the agent has changed of it.
async fn look(
    netlink: &Netlink,
    roots: &Roots,
    journal: &Journal,
    wanted: &[Wanted],
    memory: &Memory,
) -> Result<Observation, Ended> {
    let mut asked = plan::asked(wanted);
    // What was pinned and is not to be any more.
    asked.pinned.extend(journal.ledger().pinned());
    asked.unmovable.clone_from(&memory.refused.interrupts);
    asked.ipv6_settings.extend(journal.ledger().without_ipv6());
    let observation = observe(netlink, roots, &asked)
        .await
        .map_err(Ended::failed)?;
    let mut observation = Observation {
        journal: journal.ledger().clone(),
        without_alternative_names: memory.refused.alternative_names,
        ..observation
    };
    if asked.routes == Routes::Own && plan::may_cost_routes(wanted, &observation) {
        let routes = netlink.routes(Routes::All).await;
        observation.routes = routes.map_err(Ended::failed)?;
    }
    Ok(observation)
}

fn words(failure: &Failure) -> String {
    let mut text = failure.error.to_string();
    for error in &failure.undo_errors {
        text.push_str("; what was done before could not be undone: ");
        text.push_str(&error.to_string());
    }
    text
}
