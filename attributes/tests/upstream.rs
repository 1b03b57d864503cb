//! Upstream's own code as an oracle: files that its library wrote, and what its reader says of the
//! cases in `streams/`. `upstream/README.md` has how the data were made.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod golden;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::os::fd::AsFd;

use device_attributes::read::tree::read_tree;
use device_attributes::read::{Form, read};

/// Where this reader does not do as upstream's does, and why.
const DIFFERENCES: [(&str, &str); 6] = [
    (
        "byte-order-mark-and-crlf",
        "a byte-order mark is skipped: editors write it",
    ),
    (
        "claim-name-that-none-can-have",
        "names go into messages, files and a claim's status: what no claim can be called is refused",
    ),
    (
        "duplicate-key",
        "of two values for one key there is no right one",
    ),
    (
        "duplicate-key-that-is-escaped",
        "of two values for one key there is no right one",
    ),
    (
        "one-device-with-broken-names",
        "names that no device can have reject the device; upstream validates on demand only",
    ),
    (
        "too-many-attributes",
        "the API's limit rejects the device; upstream validates on demand only",
    ),
];

// dranet@97f6585 (case 59).
#[test]
fn what_upstream_wrote_is_read() {
    let written = golden::tests().join("upstream/written");
    let mut scenarios: Vec<_> = fs::read_dir(&written)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    scenarios.sort();
    assert_eq!(scenarios.len(), 9, "{scenarios:?}");
    let mut failures = String::new();
    for scenario in scenarios {
        let name = scenario.file_name().unwrap().to_str().unwrap();
        let found = read_tree(name, File::open(&scenario).unwrap().as_fd());
        let reading = found.as_ref().unwrap();
        assert_eq!((reading.form, reading.rejected.len()), (Form::Stream, 0));
        if let Err(difference) =
            golden::compare(&scenario.with_extension("expected"), &golden::shown(&found))
        {
            failures.push_str(&difference);
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

// KEP-5304 `devicemetadata/decode_test.go` (case 91).
#[test]
fn streams_are_taken_and_refused_as_upstream_does() {
    let decoded = fs::read_to_string(golden::tests().join("upstream/decoded.txt")).unwrap();
    let mut verdicts: BTreeMap<&str, &str> = decoded
        .lines()
        .map(|line| line.split_once(".json ").unwrap())
        .collect();
    let mut different = Vec::new();
    for case in golden::cases("streams") {
        let name = case.file_stem().unwrap().to_str().unwrap().to_owned();
        let upstream = verdicts
            .remove(name.as_str())
            .unwrap_or_else(|| panic!("decoded.txt has nothing of {name}: make it anew"));
        // Upstream keeps the order of the file, the document has its own.
        let mut upstream: Vec<&str> = upstream.split(' ').collect();
        if upstream[0] == "error" {
            upstream.truncate(1);
        }
        upstream[1..].sort_unstable();
        if verdict(&fs::read(&case).unwrap()) != upstream.join(" ") {
            different.push(name);
        }
    }
    assert!(verdicts.is_empty(), "cases that are gone: {verdicts:?}");
    different.sort_unstable();
    assert_eq!(different, DIFFERENCES.map(|(case, _)| case));
}

/// This reader's verdict in the words of `decoded.txt`.
fn verdict(bytes: &[u8]) -> String {
    let Ok(reading) = read("f", bytes) else {
        return "error".to_owned();
    };
    let devices = reading.document.devices.iter().map(|device| {
        let name = |name: &Option<device_attributes::Name>| name.as_ref().unwrap().to_string();
        format!(
            "{:?}",
            format!("{}/{}", name(&device.request), name(&device.device))
        )
    });
    let mut devices: Vec<String> = devices.collect();
    devices.sort_unstable();
    let mut verdict = "ok".to_owned();
    for device in devices {
        write!(verdict, " {device}").unwrap();
    }
    verdict
}
