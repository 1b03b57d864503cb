//! One pass of the pipeline: observe → plan → apply → verify.

use std::collections::BTreeMap;

use device_attributes::read::Reading;
use device_attributes::report::DeviceReport;

use crate::apply::{self, Failure};
use crate::exit::Ended;
use crate::netlink::Netlink;
use crate::observe::{Observation, observe};
use crate::plan::{self, Plan, Wanted};
use crate::policy::Policy;
use crate::roots::Roots;
use crate::verify;

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
    /// What was to be done.
    pub plan: Plan,
}

/// Brings the devices into the wanted state and says what became of each.
///
/// Every step is told, unless `last`, the plan of the pass before, was the same: what fails every
/// half minute is no news.
///
/// # Errors
/// When the kernel cannot be asked; what it refuses for one device is in that device's report.
pub async fn pass(
    netlink: &Netlink,
    roots: &Roots,
    policy: &Policy,
    reading: &Reading,
    last: &Plan,
) -> Result<Passed, Ended> {
    let Draft {
        wanted,
        mut observation,
        plan,
    } = draft(netlink, roots, policy, reading).await?;
    let mut failures: BTreeMap<usize, String> = BTreeMap::new();
    // With nothing to do the observation is as fresh as one can be.
    if !plan.transactions.is_empty() {
        for step in plan.steps() {
            if plan == *last {
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
    devices.extend(reading.rejected.iter().map(verify::rejected));
    Ok(Passed {
        devices,
        ready: ready && reading.rejected.is_empty(),
        settled: verify::is_settled(&wanted, &observation),
        plan,
    })
}

fn words(failure: &Failure) -> String {
    let mut text = failure.error.to_string();
    for error in &failure.undo_errors {
        text.push_str("; what was done before could not be undone: ");
        text.push_str(&error.to_string());
    }
    text
}
