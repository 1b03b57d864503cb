//! Attributes that are broken, or no file at all.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::{FLAT, agent};

fn stream(version: &str, rest: &str) -> String {
    format!(
        "{{\"apiVersion\":\"metadata.resource.k8s.io/{version}\",\"kind\":\"DeviceMetadata\",\
         \"metadata\":{{\"name\":\"c\",\"namespace\":\"d\",\"uid\":\"u\",\"generation\":1}}{rest}}}\n"
    )
}

/// The name of a case, its bytes, the end of the message after the file's name, and the exit
/// codes of `validate` and `apply`.
type Case = (&'static str, Vec<u8>, &'static str, i32, i32);

fn cases() -> Vec<Case> {
    let deep = |open: &str, close: &str| {
        format!(
            "{{\"macAddress\":\"52:54:00:ab:cd:ef\",\"x\":{}1{}}}",
            open.repeat(10_000),
            close.repeat(10_000)
        )
    };
    vec![
        (
            "empty",
            vec![],
            ": the file is empty: it may not have been written yet",
            1,
            4,
        ),
        (
            "white-space",
            b" \n\t".to_vec(),
            ": the file is empty: it may not have been written yet",
            1,
            4,
        ),
        (
            "cut",
            FLAT.as_bytes()[..40].to_vec(),
            ":1:40: the JSON text ends too early: the file is cut or still being written",
            1,
            4,
        ),
        (
            "wrong-kind",
            br#"{"apiVersion":"dra-guest/v1","kind":"Pod","devices":[]}"#.to_vec(),
            "kind \"Pod\" is not \"DeviceAttributes\", the kind of dra-guest/v1",
            1,
            1,
        ),
        (
            "wrong-kind-in-stream",
            stream("v1beta1", "")
                .replace("DeviceMetadata", "Pod")
                .into_bytes(),
            "kind \"Pod\" is not \"DeviceMetadata\"",
            1,
            1,
        ),
        (
            "unknown-versions-only",
            stream("v9", "").into_bytes(),
            "no known apiVersion: found metadata.resource.k8s.io/v9",
            1,
            1,
        ),
        (
            "known-version-broken",
            stream("v1beta1", ",\"requests\":7").into_bytes(),
            "requests: invalid type: integer `7`",
            1,
            1,
        ),
        (
            "2-mib",
            format!("{{\"macAddress\":\"{}\"}}", "x".repeat(2 << 20)).into_bytes(),
            ": the file has more than 1048576 bytes, the most that is read",
            1,
            1,
        ),
        (
            "deep-arrays",
            deep("[", "]").into_bytes(),
            "arrays and objects are nested deeper than 32",
            1,
            1,
        ),
        (
            "deep-objects",
            deep("{\"x\":", "}").into_bytes(),
            "arrays and objects are nested deeper than 32",
            1,
            1,
        ),
        (
            "duplicate-key",
            br#"{"macAddress":"52:54:00:ab:cd:ef","macAddress":"52:54:00:ab:cd:ee"}"#.to_vec(),
            "macAddress",
            1,
            1,
        ),
        ("nul-bytes", vec![0; 64], ":1:1: ", 1, 1),
        (
            "nul-byte-inside",
            b"{\"macAddress\":\"52:54:00:ab:cd:e\0\"}".to_vec(),
            ":1:",
            1,
            1,
        ),
        (
            "not-utf-8",
            b"{\"macAddress\":\"\xff\xfe\"}".to_vec(),
            ":1:",
            1,
            1,
        ),
        (
            "no-known-form",
            br#"{"hello":"world"}"#.to_vec(),
            "this is none of the known forms",
            1,
            1,
        ),
        (
            "not-json",
            b"pciAddress: 0000:3b:00.1\n".to_vec(),
            ":1:1: ",
            1,
            1,
        ),
        (
            "garbage-after-flat",
            format!("{FLAT} x").into_bytes(),
            ":1:",
            1,
            1,
        ),
    ]
}

// bottlerocket#3685 (case 90).
#[test]
fn every_kind_has_its_message_and_exit_code() {
    let directory = TempDir::new().unwrap();
    for (name, bytes, message, validate, apply) in cases() {
        let file = directory.path().join(format!("{name}.json"));
        fs::write(&file, bytes).unwrap();
        let path = file.to_str().unwrap();
        for (code, arguments) in [
            (validate, vec!["validate", path]),
            (apply, vec!["apply", "--attributes", path]),
            (apply, vec!["plan", "--attributes", path]),
        ] {
            let said = agent(directory.path(), &arguments);
            assert_eq!(said.code, code, "{name}: {arguments:?}: {}", said.stderr);
            assert!(
                said.stderr.contains(path),
                "{name}: no file in {}",
                said.stderr
            );
            assert!(said.stderr.contains(message), "{name}: {}", said.stderr);
            assert!(said.stderr.len() < 4_096, "{name}: a message without end");
        }
    }
}

// kata-containers `src/agent/src/watcher.rs` (case 93).
#[test]
fn what_is_no_file_neither_hangs_nor_is_read() {
    let directory = TempDir::new().unwrap();
    let at = |name: &str| -> PathBuf { directory.path().join(name) };
    rustix::fs::mknodat(
        rustix::fs::CWD,
        at("fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    fs::create_dir(at("directory")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    for (path, message, code) in [
        (at("fifo"), "this is a FIFO, not a regular file", 1),
        (at("socket"), "socket", 1),
        (PathBuf::from("/dev/zero"), "not a regular file", 1),
        (at("missing"), "no device attributes yet: there is no ", 4),
    ] {
        let path = path.to_str().unwrap();
        let said = agent(directory.path(), &["apply", "--attributes", path]);
        assert_eq!(said.code, code, "{path}: {}", said.stderr);
        assert!(said.stderr.contains(path), "{}", said.stderr);
        assert!(said.stderr.contains(message), "{path}: {}", said.stderr);
    }
    // A directory is one of upstream's metadata files: an empty one has none yet.
    let said = agent(
        directory.path(),
        &["apply", "--attributes", at("directory").to_str().unwrap()],
    );
    assert_eq!(said.code, 4, "{}", said.stderr);
    assert!(
        said.stderr.contains("no metadata file below "),
        "{}",
        said.stderr
    );
}

#[test]
fn the_flat_form_of_the_blog_posts_is_read() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("flat.json");
    for text in [
        FLAT.to_owned(),
        format!("\u{feff}{FLAT}"),
        FLAT.replace(", ", ",\r\n"),
    ] {
        fs::write(&file, text).unwrap();
        let said = agent(directory.path(), &["validate", file.to_str().unwrap()]);
        assert_eq!(said.code, 0, "{}", said.stderr);
        assert!(
            said.stdout.contains("the flat form with 1 usable device"),
            "{}",
            said.stdout
        );
    }
}

#[test]
fn unknown_version_first_is_skipped() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("stream.json");
    fs::write(&file, stream("v2", "") + &stream("v1alpha1", "")).unwrap();
    let said = agent(directory.path(), &["validate", file.to_str().unwrap()]);
    assert_eq!(said.code, 0, "{}", said.stderr);
}

// bottlerocket#3685 (case 90).
#[test]
fn validate_names_line_and_field_of_one_device_and_takes_the_others() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("document.json");
    let text = "{\n  \"apiVersion\": \"dra-guest/v1\",\n  \"kind\": \"DeviceAttributes\",\n  \"devices\": [\n    \
                {\"device\": \"a\", \"network\": {\"macAddress\": \"02:00:00:00:00:01\"}},\n    \
                {\"device\": \"b\",\n     \"network\": {\"macAddress\": \"02:00:00:00:00\"}}\n  ]\n}\n";
    fs::write(&file, text).unwrap();
    let said = agent(directory.path(), &["validate", file.to_str().unwrap()]);
    assert_eq!(said.code, 1);
    assert!(
        said.stderr.contains("document.json:7:")
            && said.stderr.contains("devices[1].network.macAddress"),
        "{}",
        said.stderr
    );
    assert!(said.stdout.contains("1 usable device"), "{}", said.stdout);
}
