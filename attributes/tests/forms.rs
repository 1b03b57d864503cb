//! Every form of input, case by case: `documents/`, `streams/`, `config-drives/`, `flat/`.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod golden;

use std::fs;

use device_attributes::read::read;

fn folder(name: &str) {
    let mut failures = String::new();
    for case in golden::cases(name) {
        let file = case.file_name().unwrap().to_str().unwrap();
        let found = golden::shown(&read(file, &fs::read(&case).unwrap()));
        if let Err(difference) = golden::compare(&case.with_extension("expected"), &found) {
            failures.push_str(&difference);
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

// KEP-5304: unknown fields (case 92).
#[test]
fn documents() {
    folder("documents");
}

// kubevirt `pkg/dra/utils.go` (case 94).
#[test]
fn streams() {
    folder("streams");
}

#[test]
fn config_drives() {
    folder("config-drives");
}

#[test]
fn flat_objects() {
    folder("flat");
}
