//! `plan`: what apply would change, and why.

use serde::Serialize;

use super::apply::{exit_of, tell_notes};
use super::{connect, load_policy, print, print_json};
use crate::exit::{Ended, Exit};
use crate::journal::Journal;
use crate::memory::Memory;
use crate::numa::Places;
use crate::owners::{self, FileStep};
use crate::pipeline;
use crate::plan::{Plan, PlannedDevice};
use crate::roots::Roots;
use crate::silent_share;
use crate::source;
use crate::units;

pub(super) async fn plan(
    roots: &Roots,
    sources: &source::Places,
    json: bool,
) -> Result<Exit, Ended> {
    let policy = load_policy(roots)?;
    let loaded = source::load(roots, sources, silent_share::open).map_err(|error| Ended {
        exit: exit_of(&error),
        message: error.to_string(),
    })?;
    tell_notes(&loaded);
    let netlink = connect()?;
    let journal = Journal::open(roots).unwrap_or_else(|error| {
        tracing::warn!("{error}: what is wanted no more is not known");
        Journal::nowhere()
    });
    let (reading, memory) = (&loaded.reading, Memory::default());
    let draft = pipeline::draft(&netlink, roots, &journal, &policy, reading, &memory).await?;
    let document = &loaded.reading.document;
    let places = Places::new(&roots.sys, document, policy.host_nodes());
    let (units, troubles) = units::wanted(roots, &draft, &places);
    for trouble in troubles {
        tracing::warn!("{trouble}");
    }
    let is_whole = reading.rejected.is_empty();
    let (wanted, observation, plan) = (&draft.wanted, &draft.observation, &draft.plan);
    let files = owners::foreseen(roots, wanted, observation, plan, units, is_whole);
    if json {
        let plan = &draft.plan;
        print_json(&WithFiles { files, plan })?;
    } else {
        print(for_people(&draft.plan, &files))?;
    }
    let in_the_way = draft
        .plan
        .devices
        .iter()
        .any(|device| !device.problems.is_empty());
    Ok(if in_the_way || !is_whole {
        Exit::SomeDevices
    } else {
        Exit::Done
    })
}

/// The plan, and the files that are written before its steps are made.
#[derive(Serialize)]
struct WithFiles<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<FileStep>,
    #[serde(flatten)]
    plan: &'a Plan,
}

fn for_people(plan: &Plan, files: &[FileStep]) -> String {
    let steps = plan.steps().map(|step| {
        let device = plan
            .devices
            .get(step.device)
            .map(|device| device.identity.to_string())
            .unwrap_or_default();
        let source = step.source.as_ref();
        let source = source.map_or_else(String::new, |source| format!(" ({source})"));
        let reason = &step.reason;
        format!("{step}: {reason}{source} [{device}]")
    });
    let files = files.iter().map(ToString::to_string);
    let numbered = files.chain(steps).zip(1_usize..);
    let mut lines: Vec<String> = numbered
        .map(|(step, number)| format!("{number}. {step}"))
        .collect();
    if lines.is_empty() {
        lines.push("nothing to change".to_owned());
    }
    lines.extend(plan.devices.iter().flat_map(problems));
    let left = plan.devices.iter().flat_map(|device| {
        let sentences = device.left.iter();
        sentences.map(|why| format!("! {}: {why}", device.identity))
    });
    lines.extend(left);
    lines.join("\n")
}

fn problems(device: &PlannedDevice) -> impl Iterator<Item = String> {
    device.problems.iter().map(|problem| {
        format!(
            "! {}: {}: {}",
            device.identity, problem.reason, problem.message
        )
    })
}
