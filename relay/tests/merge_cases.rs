//! The merge by cases: each folder of `cases` has a claim, what is said of it, and the claim as it has to be.
//!
//! `reports.json` has `now`, `devices` as the report protocol has them, and `unreported`, why the
//! other devices are Unknown. `problems.txt` has a line for each problem; without it there is none.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::fs;
use std::path::Path;

use device_attributes::report::{DeviceReport, Reason};
use dra_guest_relay::manifest::Format;
use dra_guest_relay::merge::merge;
use dra_guest_relay::statement::{Condition, Statement, Status};
use dra_guest_relay::store::ClaimUpdate;
use dra_guest_relay::value::Value;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    now: String,
    devices: Vec<DeviceReport>,
    unreported: Option<String>,
}

fn claim(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap();
    let documents = Format::Yaml
        .parse(&path.display().to_string(), &text)
        .unwrap_or_else(|error| panic!("{error}"));
    documents.into_iter().next().unwrap()
}

#[test]
fn every_case_ends_as_it_has_to() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut failed = Vec::new();
    let mut count = 0;
    for case in fs::read_dir(cases).unwrap() {
        let case = case.unwrap().path();
        count += 1;
        let before = claim(&case.join("claim.yaml"));
        let said: Said =
            serde_json::from_str(&fs::read_to_string(case.join("reports.json")).unwrap())
                .unwrap_or_else(|error| panic!("{}: {error}", case.display()));
        let update = ClaimUpdate {
            statements: said
                .devices
                .iter()
                .map(|report| Statement::from_report(report).unwrap().1)
                .collect(),
            unreported: said.unreported.map(|message| Condition {
                status: Status::Unknown,
                reason: Reason::AgentLost,
                message,
            }),
        };
        let mut after = before.clone();
        let outcome = merge(&mut after, &update, said.now.parse().unwrap());

        // Equal maps have the same keys in the same order.
        let expected = claim(&case.join("expected.yaml"));
        let problems = fs::read_to_string(case.join("problems.txt")).unwrap_or_default();
        let mut found = outcome.problems.join("\n");
        if !found.is_empty() {
            found.push('\n');
        }
        if after != expected || found != problems || outcome.changed != (before != expected) {
            failed.push(format!(
                "{}: changed: {}, problems:\n{found}claim:\n{}",
                case.display(),
                outcome.changed,
                Format::Yaml.render(&[after]).unwrap()
            ));
        }
    }
    assert!(count > 0, "there is no case");
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
