//! `docs/plan.schema.json` describes what `plan --json` prints: every plan of the cases fits it, and
//! the cases have every action that it knows.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

fn read(path: &Path) -> Value {
    let text =
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn schema() -> Value {
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/plan.schema.json"))
}

/// The plans of the cases, which are what the planner gives (`cases.rs`).
fn plans() -> Vec<Value> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let plans = fs::read_dir(directory)
        .unwrap()
        .map(|case| read(&case.unwrap().path().join("plan.json")));
    plans.collect()
}

/// The name of an action: its key.
fn name(action: &Value) -> String {
    action.as_object().unwrap().keys().next().unwrap().clone()
}

#[test]
fn every_plan_fits_the_schema() {
    let schema = jsonschema::validator_for(&schema()).unwrap();
    for plan in plans() {
        let errors: Vec<String> = schema
            .iter_errors(&plan)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{errors:#?}\n{plan:#}");
    }
}

#[test]
fn every_action_of_the_schema_is_in_a_case() {
    let schema = schema();
    let known: BTreeSet<String> = schema["$defs"]["action"]["oneOf"]
        .as_array()
        .unwrap()
        .iter()
        .map(|action| &action["properties"])
        .map(name)
        .collect();
    let plans = plans();
    let transactions = plans
        .iter()
        .filter_map(|plan| plan["transactions"].as_array());
    let steps = transactions
        .flatten()
        .filter_map(|it| it["steps"].as_array());
    let seen: BTreeSet<String> = steps.flatten().map(|step| name(&step["action"])).collect();
    assert_eq!(seen, known);
}

#[test]
fn the_schema_refuses_what_is_no_plan() {
    let schema = jsonschema::validator_for(&schema()).unwrap();
    let plan = |action: Value| {
        json!({"devices": [], "transactions": [{"steps": [
            {"device": 0, "interface": 3, "name": "eth0", "action": action, "reason": "why"}
        ]}]})
    };
    assert!(schema.is_valid(&plan(json!({"setUp": {}}))));
    for action in [
        json!("setUp"),
        json!({"rename": {"to": "sixteen-bytes-xx"}}),
        json!({"setMtu": {"to": 1500}}),
        json!({"addAddress": {"address": "192.0.2.5"}}),
        json!({"setMtu": {"from": 1, "to": 2}, "rename": {"to": "a"}}),
    ] {
        assert!(!schema.is_valid(&plan(action.clone())), "{action}");
    }
    assert!(!schema.is_valid(&json!({"devices": []})));
}
