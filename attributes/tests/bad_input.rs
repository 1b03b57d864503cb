//! What a file may be instead of what is wanted, and the full text of the error.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::fs;
use std::path::Path;

use device_attributes::read::{Reading, file, read};
use device_attributes::{ReadError, limits};
use rustix::fs::{CWD, FileType, Mode, mknodat};

const DOCUMENT: &str =
    r#"{"apiVersion": "dra-guest/v1", "kind": "DeviceAttributes", "devices": []}"#;

/// Reads a file by the way that the programs take, under a name that is the same on every machine.
fn read_file(path: &Path) -> Result<Reading, ReadError> {
    let bytes = file::read_fd("f.json", file::open(path)?)?;
    read("f.json", &bytes)
}

fn read_bytes(bytes: impl AsRef<[u8]>) -> Result<Reading, ReadError> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("f.json");
    fs::write(&path, bytes).unwrap();
    read_file(&path)
}

#[track_caller]
fn refused(bytes: impl AsRef<[u8]>, text: &str) -> ReadError {
    let error = read_bytes(bytes).unwrap_err();
    assert_eq!(error.to_string(), text);
    error
}

#[test]
fn no_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("f.json");
    let error = read_file(&path).unwrap_err();
    assert!(error.is_not_found());
    let text = format!("{}: there is no such file or directory", path.display());
    assert_eq!(error.to_string(), text);
}

#[test]
fn empty_file() {
    for bytes in ["", "\n", " \r\n\t", "\u{feff}", "\u{feff}\n"] {
        let error = refused(
            bytes,
            "f.json: the file is empty: it may not have been written yet",
        );
        assert!(error.may_be_unfinished());
    }
}

// KEP-5304 `kubeletplugin/metadata.go` (case 84).
#[test]
fn file_cut_at_every_byte() {
    for end in 1..DOCUMENT.len() {
        let error = read_bytes(&DOCUMENT[..end]).unwrap_err();
        assert!(error.may_be_unfinished(), "{end}: {error}");
    }
    refused(
        &DOCUMENT[..40],
        "f.json:1:40: the JSON text ends too early: the file is cut or still being written",
    );
}

// serde-rs/json#805 (case 89).
#[test]
fn byte_order_mark_is_skipped_and_does_not_count() {
    read_bytes(format!("\u{feff}{DOCUMENT}\r\n")).unwrap();
    refused(
        "\u{feff}{]",
        "f.json:1:2: this is not JSON: key must be a string",
    );
    refused(
        b"\xff\xfe{\0}\0",
        "f.json:1:1: the byte 0xff is not UTF-8 text",
    );
}

#[test]
fn wrong_kind() {
    refused(
        r#"{"apiVersion": "metadata.resource.k8s.io/v1beta1", "kind": "ResourceClaim"}"#,
        "f.json:1:60: kind \"ResourceClaim\" is not \"DeviceMetadata\", the kind of \
         metadata.resource.k8s.io/v1beta1",
    );
}

#[test]
fn unknown_version() {
    refused(
        r#"{"apiVersion": "metadata.resource.k8s.io/v2", "kind": "DeviceMetadata"}"#,
        "f.json: no known apiVersion: found metadata.resource.k8s.io/v2, known are dra-guest/v1, \
         metadata.resource.k8s.io/v1beta1, metadata.resource.k8s.io/v1alpha1",
    );
}

#[test]
fn known_version_broken() {
    refused(
        "{\"apiVersion\": \"metadata.resource.k8s.io/v1beta1\", \"kind\": \"DeviceMetadata\",\n \
         \"requests\": [{\"devices\": [{\"attributes\": {\"a\": {\"int\": 1.5}}}]}]}",
        "f.json:2:57: requests[0].devices[0].attributes.a.int: invalid type: floating point \
         `1.5`, expected a whole number",
    );
}

// kata-containers `src/agent/src/watcher.rs` (case 93).
#[test]
fn file_of_two_mebibytes() {
    let large = format!("{DOCUMENT}{}", " ".repeat(2 << 20));
    refused(
        large,
        "f.json: the file has more than 1048576 bytes, the most that is read",
    );
    let blank = " ".repeat(limits::FILE_BYTES - DOCUMENT.len());
    let largest = format!("{DOCUMENT}{blank}");
    read_bytes(&largest).unwrap();
}

// kata-containers `src/agent/src/watcher.rs` (case 93).
#[test]
fn ten_thousand_levels() {
    let text = "arrays and objects are nested deeper than 32";
    refused("[".repeat(10_000), &format!("f.json:1:33: {text}"));
    let lists = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let hidden = format!("{{\"apiVersion\": \"dra-guest/v1\",\n\"unknown\": {lists}}}");
    refused(hidden, &format!("f.json:2:43: {text}"));
    let objects = "{\"a\":".repeat(10_000);
    refused(objects, &format!("f.json:1:161: {text}"));
}

// kata-containers `src/agent/src/watcher.rs` (case 93).
#[test]
fn duplicate_keys() {
    refused(
        r#"{"macAddress": "52:54:00:ab:cd:ef", "macAddress": "52:54:00:ab:cd:ef"}"#,
        "f.json:1:37: macAddress: the key \"macAddress\" stands twice in one object",
    );
    refused(
        "{\"unknown\": [{},\n {\"a\": {\"b/c\": 1, \"b/c\": 2}}]}",
        "f.json:2:19: unknown[1].a[\"b/c\"]: the key \"b/c\" stands twice in one object",
    );
}

// kata-containers `src/agent/src/watcher.rs` (case 93).
#[test]
fn nul_bytes() {
    refused(
        "\0".repeat(4096),
        "f.json:1:1: a NUL byte stands in the text",
    );
    refused(
        "{\n  \"mac\0Address\": 1}",
        "f.json:2:7: a NUL byte stands in the text",
    );
    refused(
        format!("{DOCUMENT}\n\0"),
        "f.json:2:1: a NUL byte stands in the text",
    );
    // Escaped, it is a text like any other, but not one that anything can be called.
    refused(
        r#"{"macAddress": "a\u0000"}"#,
        "f.json:1:16: macAddress: \"a\\0\" is not a MAC address: twelve hexadecimal digits are \
         expected, like 52:54:00:ab:cd:ef",
    );
}

// kata-containers `src/agent/src/watcher.rs` (case 93).
#[test]
fn bytes_that_are_no_text() {
    refused(
        b"{\"macAddress\": \"\xc3\x28\"}",
        "f.json:1:17: the byte 0xc3 is not UTF-8 text",
    );
}

#[test]
fn values_that_are_no_object() {
    for bytes in ["[]", "1", "\"text\"", "null", "true"] {
        let error = read_bytes(bytes).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("f.json:1:1: this is none of the known forms"),
            "{error}"
        );
    }
}

// kata-containers `src/agent/src/watcher.rs` (case 93).
#[test]
fn fifo_and_directory_in_its_place() {
    let directory = tempfile::tempdir().unwrap();
    let fifo = directory.path().join("fifo");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR, 0).unwrap();
    for (path, what) in [
        (fifo.as_path(), "a FIFO"),
        (directory.path(), "a directory"),
    ] {
        let error = read_file(path).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("f.json: this is {what}, not a regular file")
        );
    }
}

#[test]
fn broken_entries_and_notes_are_bounded() {
    let keys = |count| {
        let keys: Vec<String> = (0..count).map(|key| format!("\"k{key}\": 0")).collect();
        format!(
            "{{\"macAddress\": \"52:54:00:ab:cd:ef\", {}}}",
            keys.join(", ")
        )
    };
    let reading = read_bytes(keys(1000)).unwrap();
    assert_eq!(reading.notes.len(), limits::NOTES + 1);
    let last = format!("f.json: {} more notes were left out", 1000 - limits::NOTES);
    assert_eq!(reading.notes.last().unwrap(), &last);

    let entries = |count| DOCUMENT.replace("[]", &format!("[{}]", vec!["0"; count].join(",")));
    assert_eq!(
        read_bytes(entries(limits::DEVICES)).unwrap().rejected.len(),
        limits::DEVICES
    );
    refused(
        entries(limits::DEVICES + 1),
        "f.json:1:71: devices: 1025 devices: at most 1024 are read",
    );
}

#[test]
fn a_long_or_hostile_text_does_not_fill_or_steer_a_terminal() {
    let long = "x".repeat(500_000);
    for text in [
        format!(
            r#"{{"apiVersion":"dra-guest/v1","kind":"DeviceAttributes","devices":[],"pod":{{"namespace":{{}},"{long}":0}}}}"#
        ),
        format!(r#"{{"macAddress":"{long}"}}"#),
        format!(r#"{{"apiVersion":"v1\u001b[31m{long}","kind":"Pod"}}"#),
        format!(
            r#"{{"apiVersion":"metadata.resource.k8s.io/v1beta1","kind":"DeviceMetadata","requests":"{long}"}}"#
        ),
    ] {
        let message = read_bytes(&text).unwrap_err().to_string();
        assert!(message.len() < 1000, "{} bytes", message.len());
        assert!(!message.contains('\u{1b}'), "{message:?}");
    }
    for value in [
        format!(r#"{{"numaNode":"{long}"}}"#),
        format!(r#"{{"numaNode":"\u001b[31m\u202e{long}"}}"#),
    ] {
        let text = format!(
            r#"{{"apiVersion":"dra-guest/v1","kind":"DeviceAttributes","devices":[
                {{"host":{value}}}, {{"attributes":{{"a/b":{value}}}}}]}}"#
        );
        for rejected in read_bytes(&text).unwrap().rejected {
            let message = rejected.error.to_string();
            assert!(message.len() < 1000, "{} bytes", message.len());
            assert!(message.contains("devices["), "{message:?}");
            assert!(!message.contains(['\u{1b}', '\u{202e}']), "{message:?}");
        }
    }
    let name = "a\n\u{1b}[31m.json";
    let message = read(name, b"").unwrap_err().to_string();
    assert!(message.starts_with("a\\n\\u{1b}[31m.json: "), "{message}");
}

#[test]
fn keys_of_one_object_are_bounded() {
    let keys = |count: usize| {
        let keys: Vec<String> = (0..count).map(|key| format!(r#""k{key}": 0"#)).collect();
        format!(
            r#"{{"macAddress": "52:54:00:ab:cd:ef", "x": {{{}}}}}"#,
            keys.join(", ")
        )
    };
    read_bytes(keys(limits::KEYS)).unwrap();
    refused(
        keys(limits::KEYS + 1),
        "f.json:1:11227: an object has more than 1024 keys",
    );
}
