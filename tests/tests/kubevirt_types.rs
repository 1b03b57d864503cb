//! Manifests for KubeVirt, held against KubeVirt's own Go types: `tests/kubevirt/schema.json`, whose version stands in
//! it, and which `make kubevirt-schema` writes anew.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::fs;
use std::path::PathBuf;

use dra_guest_tests::programs::workspace;
use jsonschema::Validator;
use serde_json::{Value, json};

/// The schema of one kind.
fn validator(kind: &str) -> Validator {
    let path = workspace().join("tests/kubevirt/schema.json");
    let mut schema: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    schema.as_object_mut().unwrap().insert(
        "$ref".to_owned(),
        json!(format!("#/$defs/kubevirt.io.api.core.v1.{kind}")),
    );
    jsonschema::validator_for(&schema).unwrap()
}

/// Files of the examples, and blocks of YAML in the documentation.
fn manifests() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for directory in ["deploy/examples", "docs", "vm-images/container-disk"] {
        for entry in fs::read_dir(workspace().join(directory)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.display().to_string();
            let extension = path.extension().unwrap_or_default();
            if extension == "yaml" {
                found.push((name, fs::read_to_string(&path).unwrap()));
            } else if extension == "md" {
                found.extend(blocks(&path).into_iter().map(|block| (name.clone(), block)));
            }
        }
    }
    found
}

fn blocks(path: &PathBuf) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let parts = text.split("```yaml\n").skip(1);
    parts
        .filter_map(|part| part.split("```").next())
        .map(str::to_owned)
        .collect()
}

fn objects(text: &str) -> Vec<Value> {
    let parts = text.split("\n---\n");
    parts
        .filter_map(|part| serde_saphyr::from_str::<Value>(part).ok())
        .collect()
}

fn faults(object: &Value) -> Vec<String> {
    let kind = object["kind"].as_str().unwrap();
    let errors = validator(kind);
    let errors = errors.iter_errors(object);
    errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

#[test]
fn every_field_of_every_manifest_is_one_of_kubevirt() {
    let mut seen = Vec::new();
    for (file, text) in manifests() {
        for object in objects(&text) {
            if object["apiVersion"] != "kubevirt.io/v1" {
                continue;
            }
            let kind = object["kind"].as_str().unwrap().to_owned();
            if !["VirtualMachine", "KubeVirt"].contains(&kind.as_str()) {
                continue;
            }
            assert_eq!(faults(&object), Vec::<String>::new(), "{file}: {kind}");
            seen.push(kind);
        }
    }
    for kind in ["VirtualMachine", "KubeVirt"] {
        let count = seen.iter().filter(|it| *it == kind).count();
        assert!(count >= 2, "{kind} in docs and examples: {count}");
    }
}

/// What the schema can see: a field that KubeVirt does not have, and one of another type.
#[test]
fn a_field_that_kubevirt_does_not_have_is_a_fault() {
    let path = workspace().join("deploy/examples/virtual-machine.yaml");
    let text = fs::read_to_string(path).unwrap();
    for (right, wrong) in [
        ("claimName: nic", "claim: nic"),
        ("autoattachVSOCK: true", "autoattachVsock: true"),
        ("readOnly: true", "readOnly: 1"),
        ("periodSeconds: 5", "periodSeconds: \"5\""),
        ("virtiofs: {}", "virtioFS: {}"),
    ] {
        assert!(text.contains(right), "{right}");
        let object = objects(&text.replace(right, wrong)).pop().unwrap();
        assert_eq!(faults(&object).len(), 1, "{wrong}: {:?}", faults(&object));
    }
}

/// The probe's command is one that the agent has, and the share's tag the one that the image mounts.
#[test]
fn the_example_says_what_image_and_agent_know() {
    let path = workspace().join("deploy/examples/virtual-machine.yaml");
    let machine = objects(&fs::read_to_string(path).unwrap()).pop().unwrap();
    let spec = &machine["spec"]["template"]["spec"];
    let command: Vec<&str> = spec["readinessProbe"]["exec"]["command"]
        .as_array()
        .unwrap()
        .iter()
        .map(|word| word.as_str().unwrap())
        .collect();
    assert_eq!(command, ["/usr/bin/dra-guest-agent", "check"]);
    let unit = fs::read_to_string(workspace().join("systemd/run-kubevirt.mount")).unwrap();
    let tag = spec["domain"]["devices"]["filesystems"][0]["name"].as_str();
    assert!(unit.contains(&format!("What={}\n", tag.unwrap())));
}
