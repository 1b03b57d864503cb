//! Input that nobody should write, and somebody will: the error's text and the exit code of each.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod container;

use std::fs;
use std::process::Command;

use container::{Container, METADATA, METADATA_NAME, Outcome};

/// As a metadata file that is mounted in the container, as one of a directory of the node, and as a
/// file of the node.
fn every_way(content: &[u8], check: impl Fn(&Container, &Outcome, &str)) {
    let container = Container::with_metadata(content);
    check(&container, &container.run(&[]), METADATA_NAME);

    let container = Container::with_vm_mount();
    let directory = container.path("claims");
    fs::create_dir_all(directory.join("default_vm-nic/vf")).unwrap();
    let file = directory.join("default_vm-nic/vf/metadata.json");
    fs::write(&file, content).unwrap();
    let option = ["--metadata-dir", directory.to_str().unwrap()];
    check(&container, &container.run(&option), file.to_str().unwrap());

    let container = Container::with_vm_mount();
    let file = container.path("attributes.json");
    fs::write(&file, content).unwrap();
    let name = file.to_str().unwrap();
    check(&container, &container.run(&["--attributes", name]), name);
}

fn refused(content: impl AsRef<[u8]>, text: &str) {
    every_way(content.as_ref(), |container, outcome, name| {
        outcome.assert_error(&format!("{name}:"));
        outcome.assert_error(text);
        assert_eq!(container.document(), None);
        assert_eq!(container.vm_files(), [""; 0]);
    });
}

#[test]
fn no_file() {
    let container = Container::with_vm_mount();
    let outcome = container.run(&[]);
    outcome.assert_success();
    assert!(
        outcome
            .stderr
            .contains("the container has no DRA metadata: nothing is written")
    );
    assert_eq!(container.vm_files(), [""; 0]);
    container
        .run(&["--attributes", "/nowhere/x.json"])
        .assert_error("/nowhere/x.json: there is no such file or directory");
    container
        .run(&["--metadata-dir", "/nowhere/x"])
        .assert_error(
            "the metadata directory /nowhere/x cannot be opened: No such file or directory",
        );
}

#[test]
fn an_empty_file() {
    refused("", "the file is empty: it may not have been written yet");
    refused(
        " \n\t",
        "the file is empty: it may not have been written yet",
    );
}

#[test]
fn a_cut_file() {
    let half = &METADATA[..METADATA.find("\"requests\"").unwrap()];
    refused(
        half,
        "the JSON text ends too early: the file is cut or still being written",
    );
}

#[test]
fn a_byte_order_mark_is_no_obstacle() {
    let content = format!("\u{feff}{METADATA}");
    every_way(content.as_bytes(), |container, outcome, _| {
        outcome.assert_success();
        assert!(container.document().is_some());
    });
}

#[test]
fn a_wrong_kind() {
    refused(
        METADATA.replace("\"DeviceMetadata\"", "\"Pod\""),
        "kind \"Pod\" is not \"DeviceMetadata\", the kind of metadata.resource.k8s.io/v1beta1",
    );
    refused(
        r#"{"apiVersion":"v1","kind":"Secret"}"#,
        "no known apiVersion: found v1",
    );
    refused("[]", "this is none of the known forms");
}

#[test]
fn an_unknown_version_first_is_passed_over() {
    let newer =
        r#"{"kind":"DeviceMetadata","apiVersion":"metadata.resource.k8s.io/v9","requests":7}"#;
    every_way(
        format!("{newer}\n{METADATA}").as_bytes(),
        |container, outcome, _| {
            outcome.assert_success();
            assert!(
                container
                    .document()
                    .unwrap()
                    .contains("\"macAddress\": \"02:00:00:4e:92:87\"")
            );
        },
    );
    refused(
        newer,
        "no known apiVersion: found metadata.resource.k8s.io/v9",
    );
}

#[test]
fn a_known_version_that_is_broken() {
    refused(
        METADATA.replacen("\"requests\": [", "\"requests\": 7, \"x\": [", 1),
        "requests: invalid type",
    );
}

#[test]
fn two_mebibytes() {
    let large = format!("{METADATA}{}", " ".repeat(2 << 20));
    refused(large, "the file has more than 1048576 bytes");
}

#[test]
fn ten_thousand_levels() {
    let deep = "[".repeat(10_000) + &"]".repeat(10_000);
    let content = METADATA.replacen(
        "\"requests\"",
        &format!("\"deep\": {deep}, \"requests\""),
        1,
    );
    refused(content, "arrays and objects are nested deeper than 32");
}

#[test]
fn a_key_twice() {
    let twice = METADATA.replacen(
        "\"podClaimName\"",
        "\"podClaimName\": \"other\", \"podClaimName\"",
        1,
    );
    refused(
        twice,
        "podClaimName: the key \"podClaimName\" stands twice in one object",
    );
}

#[test]
fn nul_bytes() {
    refused(
        METADATA.replacen("worker-0", "worker\0", 1),
        "a NUL byte stands in the text",
    );
    refused(
        METADATA.replacen("worker-0", "worker\\u0000", 1),
        "is not a Kubernetes name",
    );
    refused(b"\0\0\0\0", "a NUL byte stands in the text");
}

#[test]
fn a_directory_in_the_files_place() {
    let mut container = Container::with_vm_mount();
    let directory = container.path("directory");
    fs::create_dir(&directory).unwrap();
    let name = directory.to_str().unwrap().to_owned();
    container
        .run(&["--attributes", &name])
        .assert_error("this is a directory, not a regular file");
    let claims = container.path("claims");
    fs::create_dir_all(claims.join("default_c/r/metadata.json")).unwrap();
    container
        .run(&["--metadata-dir", claims.to_str().unwrap()])
        .assert_error("default_c/r/metadata.json: this is a directory, not a regular file");
    container.mount(&directory, container::METADATA_FILE);
    container.run(&[]).assert_error(&format!(
        "{METADATA_NAME}: this is a directory, not a regular file"
    ));
    assert_eq!(container.document(), None);
}

#[test]
fn a_fifo_in_the_files_place() {
    let mut container = Container::with_vm_mount();
    let fifo = container.path("fifo");
    assert!(
        Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    let name = fifo.to_str().unwrap().to_owned();
    container
        .run(&["--attributes", &name])
        .assert_error("this is a FIFO, not a regular file");
    container
        .run(&["--metadata-dir", &name])
        .assert_error("fifo cannot be opened: Not a directory");
    let claims = container.path("claims");
    fs::create_dir_all(claims.join("default_c/r")).unwrap();
    fs::rename(&fifo, claims.join("default_c/r/metadata.json")).unwrap();
    container
        .run(&["--metadata-dir", claims.to_str().unwrap()])
        .assert_error("default_c/r/metadata.json: this is a FIFO, not a regular file");
    let fifo = claims.join("default_c/r/metadata.json");
    container.mount(&fifo, container::METADATA_FILE);
    container.run(&[]).assert_error(&format!(
        "{METADATA_NAME}: this is a FIFO, not a regular file"
    ));
    assert_eq!(container.document(), None);
}

#[test]
fn skip_lets_the_container_start_and_says_why() {
    let container = Container::with_metadata("{");
    let log = container.path("log");
    let outcome = container.run(&["--on-error", "skip", "--log", log.to_str().unwrap()]);
    outcome.assert_success();
    for text in [outcome.stderr, fs::read_to_string(log).unwrap()] {
        assert!(text.contains("the JSON text ends too early"), "{text}");
        assert!(text.contains("it is left out (--on-error skip)"), "{text}");
        assert!(
            text.contains("no device can be used: nothing is written"),
            "{text}"
        );
    }
    assert_eq!(container.vm_files(), [""; 0]);
}
