//! What becomes of claims and slices of devices: `claims/<case>/claim.json`, with or without a `slices.json`
//! beside it, against its `expected`. Those in `claims/api-server-*` are as an API server of Kubernetes printed them
//! (`kubectl get -o json`). `BLESS=1` writes the expectations anew; the difference is then for a person to read.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

// Of the module only `compare` is used here.
#[allow(dead_code)]
mod golden;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use device_attributes::read::claim::{Allocated, Slices, devices, read_claim, read_slices};
use device_attributes::{Document, ReadError, read};

fn allocated(case: &Path) -> Result<Allocated, ReadError> {
    let mut slices = Slices::default();
    if let Ok(bytes) = fs::read(case.join("slices.json")) {
        for slice in read_slices("slices.json", &bytes)? {
            slices.put(slice);
        }
    }
    let claim = read_claim("claim.json", &fs::read(case.join("claim.json")).unwrap())?;
    devices(&claim, &slices)
}

/// All that is said of a case.
fn shown(allocated: Result<Allocated, ReadError>) -> String {
    let allocated = match allocated {
        Ok(allocated) => allocated,
        Err(error) => return format!("error: {error}\n"),
    };
    let mut text = String::new();
    for rejected in &allocated.rejected {
        writeln!(text, "rejected: {}: {}", rejected.identity, rejected.error).unwrap();
    }
    for note in &allocated.notes {
        writeln!(text, "note: {note}").unwrap();
    }
    let document = Document {
        pod: None,
        devices: allocated.devices,
    };
    let bytes = document.to_bytes();
    // What is written is a document that is read again, to the same.
    let again = read::read("again", &bytes).unwrap();
    assert_eq!((&again.document, again.rejected.len()), (&document, 0));
    text.push_str(std::str::from_utf8(&bytes).unwrap());
    text
}

#[test]
fn every_case_is_as_expected() {
    let mut cases: Vec<_> = fs::read_dir(golden::tests().join("claims"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    cases.sort();
    assert!(cases.len() >= 15, "{cases:?}");
    let mut failures = String::new();
    for case in cases {
        if let Err(difference) = golden::compare(&case.join("expected"), &shown(allocated(&case))) {
            failures.push_str(&difference);
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn what_is_no_claim_is_refused_with_its_place() {
    for (text, words) in [
        ("", "c: the file is empty: it may not have been written yet"),
        ("7", "c:1:1: invalid type: integer `7`, expected an object"),
        (
            r#"{"kind":"ResourceClaim"}"#,
            r#"c:1:1: "apiVersion" is missing"#,
        ),
        (
            r#"{"apiVersion":"resource.k8s.io/v1alpha2","kind":"ResourceClaim"}"#,
            "c:1:15: apiVersion: no known apiVersion: found resource.k8s.io/v1alpha2, known are resource.k8s.io/v1, resource.k8s.io/v1beta2",
        ),
        (
            r#"{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaimTemplate"}"#,
            r#"c:1:43: kind: kind "ResourceClaimTemplate" is not "ResourceClaim", the kind of resource.k8s.io/v1"#,
        ),
        (
            r#"{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"namespace":"a"}}"#,
            r#"c:1:70: metadata: "name" is missing"#,
        ),
        (
            r#"{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"namespace":"a","name":"b c"}}"#,
            r#"c:1:94: metadata.name: "b c" is not a Kubernetes name: 1 to 253 letters, digits, '-', '.', '_', '/' or ':' are expected"#,
        ),
        (
            r#"{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"namespace":"a","name":"b"},"status":{"allocation":{"devices":{"results":[{"driver":7}]}}}}"#,
            "c:1:155: status.allocation.devices.results[0].driver: invalid type: integer `7`, expected a string",
        ),
        (
            r#"{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","kind":"x"}"#,
            r#"c:1:59: kind: the key "kind" stands twice in one object"#,
        ),
    ] {
        let error = read_claim("c", text.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), words, "{text}");
    }
}

#[test]
fn slices_come_alone_and_in_lists() {
    let slice = r#"{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"one"},"spec":{"driver":"d","pool":{"name":"p"}}}"#;
    let bare = r#"{"metadata":{"name":"two"},"spec":{"driver":"d","pool":{"name":"p"}}}"#;
    let names = |text: &str| -> Result<Vec<String>, String> {
        let slices = read_slices("s", text.as_bytes()).map_err(|error| error.to_string())?;
        Ok(slices.into_iter().map(|slice| slice.name).collect())
    };
    assert_eq!(names(slice).unwrap(), ["one"]);
    // As kubectl prints them, and as the API server lists them.
    for kind in ["List", "ResourceSliceList"] {
        let list = format!(r#"{{"apiVersion":"v1","kind":"{kind}","items":[{slice},{bare}]}}"#);
        assert_eq!(names(&list).unwrap(), ["one", "two"]);
    }
    assert!(names(r#"{"kind":"List"}"#).unwrap().is_empty());
    assert_eq!(
        names(bare).unwrap_err(),
        r#"s:1:1: "apiVersion" is missing"#
    );
    let pod = r#"{"kind":"List","items":[{"apiVersion":"v1","kind":"Pod"}]}"#;
    assert_eq!(
        names(pod).unwrap_err(),
        "s:1:39: items[0].apiVersion: no known apiVersion: found v1, known are resource.k8s.io/v1, resource.k8s.io/v1beta2"
    );
    let nameless = r#"{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice"}"#;
    assert_eq!(
        names(nameless).unwrap_err(),
        r#"s:1:1: metadata: "name" is missing"#
    );
}
