//! `plan`: what apply would change, and why.

use super::apply::{exit_of, tell_notes};
use super::{connect, load_policy, print, print_json};
use crate::exit::{Ended, Exit};
use crate::pipeline;
use crate::plan::{Plan, PlannedDevice};
use crate::roots::Roots;
use crate::source::{self, Places};

pub(super) async fn plan(roots: &Roots, places: &Places, json: bool) -> Result<Exit, Ended> {
    let policy = load_policy(roots)?;
    let loaded = source::load(roots, places).map_err(|error| Ended {
        exit: exit_of(&error),
        message: error.to_string(),
    })?;
    tell_notes(&loaded);
    let netlink = connect()?;
    let draft = pipeline::draft(&netlink, roots, &policy, &loaded.reading).await?;
    if json {
        print_json(&draft.plan)?;
    } else {
        print(for_people(&draft.plan))?;
    }
    let in_the_way = draft
        .plan
        .devices
        .iter()
        .any(|device| !device.problems.is_empty());
    Ok(if in_the_way || !loaded.reading.rejected.is_empty() {
        Exit::SomeDevices
    } else {
        Exit::Done
    })
}

fn for_people(plan: &Plan) -> String {
    let mut lines: Vec<String> = plan
        .steps()
        .enumerate()
        .map(|(number, step)| {
            let device = plan
                .devices
                .get(step.device)
                .map(|device| device.identity.to_string())
                .unwrap_or_default();
            let source = step.source.as_ref();
            let source = source.map_or_else(String::new, |source| format!(" ({source})"));
            let reason = &step.reason;
            format!("{}. {step}: {reason}{source} [{device}]", number + 1)
        })
        .collect();
    if lines.is_empty() {
        lines.push("nothing to change".to_owned());
    }
    lines.extend(plan.devices.iter().flat_map(problems));
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
