//! The planner's cases: `cases/NAME/{document.json, observed.json, policy.toml}` → `plan.json`.
//!
//! `observed.json` is what `dra-guest-agent inspect --json` prints, so a state seen on a machine
//! becomes a case as it is. `UPDATE_CASES=1 cargo test -p dra-guest-agent --test cases` writes the
//! plans anew, to be read before they are committed.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::too_many_lines
)]

use std::fs;
use std::path::{Path, PathBuf};

use dra_guest_agent::observe::Observation;
use dra_guest_agent::plan::{Action, Plan, plan, wanted};
use dra_guest_agent::policy::Policy;

fn cases() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut cases: Vec<PathBuf> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    cases.sort();
    assert!(cases.len() >= 40, "the cases are gone");
    cases
}

struct Case {
    wanted: Vec<dra_guest_agent::plan::Wanted>,
    observation: Observation,
}

fn load(case: &Path) -> Case {
    let document = case.join("document.json");
    let bytes = fs::read(&document).unwrap();
    let reading = device_attributes::read::read(&document.display().to_string(), &bytes)
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(reading.rejected, [], "{}", case.display());
    let policy = match fs::read_to_string(case.join("policy.toml")) {
        Ok(text) => Policy::parse("policy.toml", &text).unwrap(),
        Err(_) => Policy::default(),
    };
    let observed = fs::read(case.join("observed.json")).unwrap();
    Case {
        wanted: wanted(&reading.document, &policy),
        observation: serde_json::from_slice(&observed)
            .unwrap_or_else(|error| panic!("{}: {error}", case.display())),
    }
}

#[test]
fn every_case_gives_its_plan() {
    let update = std::env::var_os("UPDATE_CASES").is_some();
    let mut wrong = Vec::new();
    for case in cases() {
        let Case {
            wanted,
            observation,
        } = load(&case);
        let made = plan(&wanted, &observation);
        let text = serde_json::to_string_pretty(&made).unwrap() + "\n";
        let golden = case.join("plan.json");
        if update {
            fs::write(&golden, &text).unwrap();
        } else if fs::read_to_string(&golden).ok().as_ref() != Some(&text) {
            wrong.push(format!("{}:\n{text}", golden.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Does to an observation what the kernel would do.
fn carry_out(plan: &Plan, observation: &mut Observation) {
    for step in plan.steps() {
        if let Action::Rename { to } = &step.action {
            let taken = observation
                .interfaces
                .iter()
                .any(|interface| interface.name == *to);
            assert!(!taken, "{step}: the name is taken at that point");
            assert!(to.len() <= 15, "{step}: the name does not fit");
        }
        let interface = observation
            .interfaces
            .iter_mut()
            .find(|interface| interface.index == step.interface)
            .unwrap();
        assert_eq!(interface.name, step.name, "{step}: another name by then");
        match &step.action {
            Action::Rename { to } => interface.name.clone_from(to),
            Action::SetMtu { from, to } => {
                assert_eq!(interface.mtu, *from, "{step}");
                interface.mtu = *to;
            }
            Action::SetUp => interface.up = true,
            Action::AddAddress { address } => interface.addresses.push(*address),
        }
    }
}

#[test]
fn a_plan_that_was_carried_out_leaves_nothing_to_do() {
    for case in cases() {
        let Case {
            wanted,
            mut observation,
        } = load(&case);
        let first = plan(&wanted, &observation);
        carry_out(&first, &mut observation);
        let second = plan(&wanted, &observation);
        assert_eq!(second.transactions, [], "{}", case.display());
        let problems = |plan: &Plan| -> Vec<usize> {
            plan.devices
                .iter()
                .map(|device| device.problems.len())
                .collect()
        };
        assert_eq!(problems(&first), problems(&second), "{}", case.display());
    }
}

#[test]
fn nothing_but_what_is_wanted_is_touched() {
    for case in cases() {
        let Case {
            wanted,
            observation,
        } = load(&case);
        let plan = plan(&wanted, &observation);
        for step in plan.steps() {
            assert_eq!(
                plan.devices[step.device].interface,
                Some(step.interface),
                "{}: {step}",
                case.display()
            );
        }
    }
}

/// A document of 1 MiB made a status of 19 MB, and lines that no relay takes.
#[test]
fn a_thousand_devices_that_are_one_have_short_messages() {
    let case = cases()
        .into_iter()
        .find(|case| case.ends_with("two-devices-are-one-interface"))
        .unwrap();
    let Case {
        wanted,
        observation,
    } = load(&case);
    let many: Vec<_> = wanted.into_iter().take(2).cycle().take(1000).collect();
    for device in plan(&many, &observation).devices {
        let message = &device.problems[0].message;
        assert!(message.len() < 1024, "{message}");
        assert!(message.contains("and 991 more"), "{message}");
    }
}
