//! The bounds of what the hook reads, says and writes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod container;

use std::fs;

use container::{Container, METADATA};

#[test]
fn messages_stay_bounded_whatever_the_input_says() {
    let container = Container::with_vm_mount();
    let log = container.path("log");
    let long = "x".repeat(400_000);
    let state = format!(r#"{{"id":"{long}","root":"/nowhere/{long}"}}"#);
    let outcome = container.run_with_state(state.as_bytes(), &["--log", log.to_str().unwrap()]);
    outcome.assert_error("cannot be opened: File name too long");
    for text in [&outcome.stderr, &fs::read_to_string(&log).unwrap()] {
        assert!(text.len() < 16_384, "{} bytes", text.len());
    }

    let devices = vec![r#"{"driver": "a b"}"#; 1000].join(",");
    let metadata = format!(
        r#"{{"kind": "DeviceMetadata", "apiVersion": "metadata.resource.k8s.io/v1beta1",
            "metadata": {{"name": "c", "namespace": "n"}},
            "requests": [{{"name": "r", "devices": [{devices}]}}]}}"#
    );
    let container = Container::with_metadata(metadata);
    let failed = container.run(&[]);
    assert_eq!(failed.code, Some(1));
    assert!(
        failed
            .stderr
            .contains("935 more broken devices or files are not named here")
    );
    let skipped = container.run(&["--on-error", "skip"]);
    skipped.assert_success();
    assert!(
        skipped
            .stderr
            .contains("936 more broken devices or files are not named here")
    );
    for text in [failed.stderr, skipped.stderr] {
        assert!(text.lines().count() < 70, "{text}");
    }
}

#[test]
fn a_directory_without_end_is_given_up() {
    let container = Container::with_vm_mount();
    let claims = container.path("claims");
    fs::create_dir_all(claims.join("default_c/r")).unwrap();
    for number in 0..5000 {
        fs::write(claims.join(format!("default_c/r/{number}")), "").unwrap();
    }
    let name = claims.to_str().unwrap();
    container.run(&["--metadata-dir", name]).assert_error(&format!(
        "{name}: the metadata files below this directory are too many: 4096 names of files and directories is the limit"
    ));
    assert_eq!(container.vm_files(), [""; 0]);
}

#[test]
fn a_document_that_its_readers_would_refuse_is_not_written() {
    // A list grows when it is written, a line for each value.
    let values = vec!["1"; 120_000].join(",");
    let content = METADATA.replacen(
        "\"resource.kubernetes.io/numaNode\"",
        &format!(
            "\"example.com/list\": {{\"ints\": [{values}]}}, \"resource.kubernetes.io/numaNode\""
        ),
        1,
    );
    let container = Container::with_metadata(content);
    let outcome = container.run(&[]);
    outcome.assert_error("its readers take at most 1048576: name the attributes");
    assert_eq!(container.vm_files(), [""; 0]);
    container.run(&["--on-error", "skip"]).assert_success();
    assert_eq!(container.vm_files(), [""; 0]);
    container
        .run(&["--export", "resource.kubernetes.io/numaNode"])
        .assert_success();
    assert!(!container.document().unwrap().contains("example.com/list"));
}
