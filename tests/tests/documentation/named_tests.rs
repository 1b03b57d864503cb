//! Tests that the documentation names, as those that hold a bound. `docs/known-bugs.md` has a test of its own
//! (`agent/tests/known_bugs.rs`).

use std::fs;
use std::path::Path;

use dra_guest_tests::programs::workspace;

use super::documents;

/// Of so many words joined by `_` a name is that of a test, and no field or module of others.
const WORDS: usize = 4;

/// What has such a name and is none.
const OTHERS: [&str; 3] = [
    "vmw_vsock_virtio_transport",
    "corecmd_bin_entry_type",
    "init_nnp_daemon_domain",
];

/// All of the sources, one after the other.
fn sources(directory: &Path, found: &mut String) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn every_test_that_is_named_is_there() {
    let mut text = String::new();
    for room in [
        "agent",
        "attributes",
        "cdi-hook",
        "nri-plugin",
        "relay",
        "tests",
    ] {
        sources(&workspace().join(room), &mut text);
    }
    let mut faults = Vec::new();
    let mut seen = 0;
    for document in documents() {
        for span in document.code_spans() {
            let is_name = span
                .bytes()
                .all(|byte| byte == b'_' || byte.is_ascii_lowercase() || byte.is_ascii_digit());
            let is_metric = span.starts_with("dra_guest_relay_");
            if !is_name
                || is_metric
                || span.split('_').count() < WORDS
                || OTHERS.contains(&span.as_str())
            {
                continue;
            }
            seen += 1;
            // A function, or a scene of a whole system.
            if !text.contains(&format!("fn {span}(")) && !text.contains(&format!("\"{span}\"")) {
                faults.push(format!("{}: there is no {span}", document.name()));
            }
        }
    }
    assert!(seen > 100, "{seen} tests");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
