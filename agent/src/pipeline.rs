//! One pass of the pipeline: observe → plan → apply → verify.

use std::collections::{BTreeMap, BTreeSet};

use device_attributes::read::Reading;
use device_attributes::report::DeviceReport;

use tokio::time::Instant;

use crate::apply::{self, Failure};
use crate::damper::{Damper, Verdict};
use crate::exit::Ended;
use crate::listing::listing;
use crate::netlink::{Change, Netlink};
use crate::observe::{Observation, observe};
use crate::owners::{self, Standing};
use crate::plan::{self, Plan, Wanted};
use crate::policy::Policy;
use crate::roots::Roots;
use crate::{udev, verify};

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
    policy: &Policy,
    reading: &Reading,
) -> Result<Draft, Ended> {
    let wanted = plan::wanted(&reading.document, policy);
    let functions = plan::functions(&wanted);
    let observation = observe(netlink, roots, &functions)
        .await
        .map_err(Ended::failed)?;
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
    pub devices: Vec<DeviceReport>,
    /// Whether all of them are ready that the policy requires.
    pub ready: bool,
    /// Whether nothing is under way in the kernel that may still turn out badly: duplicate address
    /// detection of a device's address, which takes seconds.
    pub settled: bool,
    /// What changes are the reason for another pass.
    pub concern: Concern,
}

/// What a pass leaves to the next one.
#[derive(Debug, Default)]
pub struct Memory {
    /// What was to be done.
    plan: Plan,
    damper: Damper,
    /// Why the managers could not all be told.
    troubles: Vec<String>,
}

/// The interfaces that a pass was about.
#[derive(Debug, Default)]
pub struct Concern {
    known: BTreeSet<u32>,
    ours: BTreeSet<u32>,
}

impl Concern {
    /// Whether a change may have to do with a device: an interface of one, a new interface, or a rule.
    pub fn is(&self, change: Change) -> bool {
        let is_ours = |index: &u32| self.ours.contains(index);
        match change {
            Change::Link(index) => is_ours(&index) || !self.known.contains(&index),
            Change::Address(index) => is_ours(&index),
            Change::Route(index) => index.is_none_or(|index| is_ours(&index)),
            Change::Rule | Change::Lost => true,
        }
    }
}

/// Brings the devices into the wanted state and says what became of each.
///
/// Every step is told, unless the plan of the pass before was the same: what fails every half minute is
/// no news.
///
/// # Errors
/// When the kernel cannot be asked; what it refuses for one device is in that device's report.
pub async fn pass(
    netlink: &Netlink,
    roots: &Roots,
    policy: &Policy,
    reading: &Reading,
    memory: &mut Memory,
) -> Result<Passed, Ended> {
    let draft = || draft(netlink, roots, policy, reading);
    let mut drafted = draft().await?;
    let told = hand_over(roots, &drafted, memory).await;
    if udev::settle(roots, &drafted.changing()).await || told {
        drafted = draft().await?;
    }
    let Draft {
        wanted,
        mut observation,
        mut plan,
    } = drafted;
    let standing = Standing::look(roots, &wanted, &observation, &plan);
    let mut failures = held_back(&wanted, &plan, &standing, &mut memory.damper);
    plan.transactions.retain(|transaction| {
        let mut steps = transaction.steps.iter();
        !steps.any(|step| failures.contains_key(&step.device))
    });
    // With nothing to do the observation is as fresh as one can be.
    if !plan.transactions.is_empty() {
        for step in plan.steps() {
            if plan == memory.plan {
                tracing::debug!("{step}: {}", step.reason);
            } else {
                tracing::info!("{step}: {}", step.reason);
            }
        }
        let applied = apply::apply(netlink, &plan.transactions).await;
        for place in 0..wanted.len() {
            if let Some(failure) = applied.failure_of(place) {
                failures.insert(place, words(failure));
            }
        }
        let functions = plan::functions(&wanted);
        observation = observe(netlink, roots, &functions)
            .await
            .map_err(Ended::failed)?;
    }
    let mut devices = verify::verify(&wanted, &observation, &failures);
    let mut required = devices.iter().zip(&wanted);
    let ready = required.all(|(device, wanted)| device.ready || wanted.optional);
    for (place, (device, wanted)) in devices.iter_mut().zip(&wanted).enumerate() {
        if device.ready {
            memory.damper.reached(wanted);
        }
        add_words(&mut device.message, &standing.words(place));
    }
    memory.damper.retain(&wanted);
    devices.extend(reading.rejected.iter().map(verify::rejected));
    let concern = Concern {
        known: (observation.interfaces.iter())
            .map(|interface| interface.index)
            .collect(),
        ours: (plan.devices.iter())
            .filter_map(|device| device.interface)
            .collect(),
    };
    memory.plan = plan;
    Ok(Passed {
        devices,
        ready: ready && reading.rejected.is_empty(),
        settled: verify::is_settled(&wanted, &observation),
        concern,
    })
}

impl Draft {
    /// The interfaces that have steps.
    fn changing(&self) -> Vec<u32> {
        self.plan.steps().map(|step| step.interface).collect()
    }
}

/// Tells the managers which interfaces are ours; true when one that runs was told, so that the
/// interfaces may be others than before.
async fn hand_over(roots: &Roots, draft: &Draft, memory: &mut Memory) -> bool {
    let Draft {
        wanted,
        observation,
        plan,
    } = draft;
    let ours = owners::ours(wanted, observation, plan);
    let found: Vec<_> = (0..wanted.len())
        .filter_map(|place| owners::found(place, plan, observation))
        .collect();
    let (told, troubles) = owners::hand_over(roots, &ours, &found).await;
    if troubles != memory.troubles {
        for trouble in &troubles {
            tracing::warn!("{trouble}");
        }
        memory.troubles = troubles;
    }
    told
}

/// The devices whose steps are not made now, by their place, each with why.
fn held_back(
    wanted: &[Wanted],
    plan: &Plan,
    standing: &Standing,
    damper: &mut Damper,
) -> BTreeMap<usize, String> {
    let now = Instant::now();
    let mut held = BTreeMap::new();
    for (place, wanted) in wanted.iter().enumerate() {
        let mut steps = plan.steps().filter(|step| step.device == place).peekable();
        if steps.peek().is_none() {
            continue;
        }
        if standing.is_left(place) {
            let missing = listing(steps);
            held.insert(place, format!("not as wanted, to do would be: {missing}"));
        } else if let Verdict::Wait(why) =
            damper.judge(wanted, steps.map(|step| step.to_string()), now)
        {
            held.insert(place, why);
        }
    }
    held
}

fn add_words(message: &mut String, words: &str) {
    if !words.is_empty() {
        if !message.is_empty() {
            message.push_str("; ");
        }
        message.push_str(words);
    }
}

fn words(failure: &Failure) -> String {
    let mut text = failure.error.to_string();
    for error in &failure.undo_errors {
        text.push_str("; what was done before could not be undone: ");
        text.push_str(&error.to_string());
    }
    text
}
