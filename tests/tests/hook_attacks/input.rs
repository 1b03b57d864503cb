//! What the hook reads: the driver's files, the state, the bundle.

use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::case::{Case, Expected};
use crate::count;
use crate::direct::Container;
use crate::scene::{METADATA, METADATA_IN_ROOT, Scene};

const DIRECTORY: &str = "root/run/kubernetes.io/dra-device-attributes";

/// The driver's file has this content.
fn content(scene: &Scene, content: impl AsRef<[u8]>) {
    fs::write(scene.path("metadata.json"), content).unwrap();
}

fn made(scene: &mut Scene, program: &str, arguments: &[&str]) {
    let path = scene.path("odd");
    let status = Command::new(program).arg(&path).args(arguments).status();
    assert!(status.unwrap().success());
    scene.metadata_of(path);
}

/// A directory of the image beside the driver's.
fn of_the_image(scene: &Scene, name: &str) -> PathBuf {
    let path = scene.path(DIRECTORY).join(name);
    fs::create_dir_all(&path).unwrap();
    path
}

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "34_a_file_of_a_tebibyte",
        arrange: |scene| {
            let path = scene.path("odd");
            File::create(&path).unwrap().set_len(1 << 40).unwrap();
            scene.metadata_of(path);
        },
        expected: Expected::Broken("the file has more than 1048576 bytes"),
    },
    Case {
        name: "34a_a_fifo",
        arrange: |scene| made(scene, "mkfifo", &[]),
        expected: Expected::Broken("this is a FIFO, not a regular file"),
    },
    Case {
        name: "34b_a_socket",
        arrange: |scene| {
            let path = scene.path("odd");
            drop(UnixListener::bind(&path).unwrap());
            scene.metadata_of(path);
        },
        expected: Expected::Broken("this is a socket, not a regular file"),
    },
    Case {
        name: "34c_a_device_without_end",
        arrange: |scene| made(scene, "mknod", &["c", "1", "5"]),
        expected: Expected::Broken("this is a character device, not a regular file"),
    },
    Case {
        name: "34d_a_directory",
        arrange: |scene| made(scene, "mkdir", &[]),
        expected: Expected::Broken("this is a directory, not a regular file"),
    },
    Case {
        name: "34e_a_fifo_of_the_image",
        arrange: |scene| {
            scene.without_metadata();
            let name = scene.path(METADATA_IN_ROOT);
            fs::create_dir_all(name.parent().unwrap()).unwrap();
            assert!(Command::new("mkfifo").arg(name).status().unwrap().success());
        },
        expected: Expected::Broken("this is a FIFO, not a regular file"),
    },
    Case {
        name: "34f_a_version_that_nobody_knows_first",
        arrange: |scene| {
            let unknown = r#"{"kind":"DeviceMetadata","apiVersion":"metadata.resource.k8s.io/v9"}"#;
            content(scene, format!("{unknown}\n{METADATA}"));
        },
        expected: Expected::Written,
    },
    Case {
        name: "34g_a_known_version_that_is_malformed",
        arrange: |scene| {
            content(
                scene,
                METADATA.replacen("\"requests\": [", "\"requests\": {", 1),
            );
        },
        expected: Expected::Broken("sriov.example.com-metadata.json"),
    },
    Case {
        name: "34h_nothing",
        arrange: |scene| content(scene, ""),
        expected: Expected::Broken("the file is empty"),
    },
    Case {
        name: "34i_a_hundred_thousand_levels",
        arrange: |scene| content(scene, "[".repeat(100_000)),
        expected: Expected::Broken("sriov.example.com-metadata.json"),
    },
    Case {
        name: "34j_no_utf_8",
        arrange: |scene| content(scene, b"{\"kind\":\"\xff\xfe\"}"),
        expected: Expected::Broken("sriov.example.com-metadata.json"),
    },
    Case {
        name: "34k_a_key_twice",
        arrange: |scene| {
            content(
                scene,
                METADATA.replacen("\"kind\"", "\"kind\": \"Pod\", \"kind\"", 1),
            );
        },
        expected: Expected::Broken("sriov.example.com-metadata.json"),
    },
    Case {
        name: "45_a_hundred_thousand_names",
        arrange: |scene| {
            let flood = of_the_image(scene, "resourceclaims/flood");
            for number in 0..100_000 {
                symlink("x", flood.join(number.to_string())).unwrap();
            }
        },
        expected: Expected::Refused("4096 names of files and directories is the limit"),
    },
    Case {
        name: "46_a_thousand_levels_of_directories",
        arrange: |scene| drop(of_the_image(scene, &"d/".repeat(1000))),
        expected: Expected::Written,
    },
    Case {
        name: "47_names_that_write_to_a_terminal_and_a_log",
        arrange: |scene| {
            let name = "a\n2026-01-01T00:00:00Z error c: forged\u{1b}[2J\u{202e}";
            let directory = of_the_image(scene, "resourceclaims").join(name).join("r");
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join("x-metadata.json"), METADATA).unwrap();
        },
        expected: Expected::Written,
    },
    Case {
        name: "47b_names_that_are_no_text",
        arrange: |scene| {
            let directory = of_the_image(scene, "resourceclaims");
            let name = std::ffi::OsStr::from_bytes(b"\xff\xfe");
            fs::create_dir(directory.join(name)).unwrap();
        },
        expected: Expected::Written,
    },
    Case {
        name: "48_a_directory_that_leads_to_itself",
        arrange: |scene| {
            let directory = of_the_image(scene, "resourceclaims/c");
            symlink("..", directory.join("r")).unwrap();
            symlink("../x-metadata.json", directory.join("x-metadata.json")).unwrap();
        },
        expected: Expected::Written,
    },
];

fn states() {
    let container = Container::new();
    let before = container.canary();
    let bundle = container.path("bundle").display().to_string();
    let long = "x".repeat((1 << 20) + 1);
    for (state, said) in [
        (String::new(), "standard input is empty"),
        (" ".repeat(4096), "standard input is empty"),
        (long, "has more than 1048576 bytes"),
        (
            "[".repeat(200_000),
            "is not one of the OCI runtime specification",
        ),
        (format!(r#"{{"bundle":"{bundle}"}} x"#), "is not one of"),
        (
            format!(r#"{{"bundle":"{bundle}","bundle":"/"}}"#),
            "is not one of",
        ),
        (r#"{"bundle":7}"#.to_owned(), "is not one of"),
        (r#"{"id":"c"}"#.to_owned(), "has no \"bundle\""),
        (r#"{"bundle":""}"#.to_owned(), "has no \"bundle\""),
        (
            r#"{"bundle":"bundle"}"#.to_owned(),
            "is not an absolute path",
        ),
        (
            r#"{"bundle":"../../bundle"}"#.to_owned(),
            "is not an absolute path",
        ),
        (r#"{"bundle":"/nowhere"}"#.to_owned(), "cannot be opened"),
        (r#"{"bundle":"/a\u0000b"}"#.to_owned(), "cannot be opened"),
        (r#"{"bundle":"/etc/passwd"}"#.to_owned(), "cannot be opened"),
        (
            r#"{"root":"/"}"#.to_owned(),
            "is the node's own root directory",
        ),
        (
            r#"{"root":"/etc/.."}"#.to_owned(),
            "is the node's own root directory",
        ),
        (
            r#"{"root":"/proc/1/root"}"#.to_owned(),
            "the container's root file system /proc/1/root",
        ),
        (r#"{"root":"/nowhere"}"#.to_owned(), "cannot be opened"),
        (r#"{"root":"rootfs"}"#.to_owned(), "has no \"bundle\""),
    ] {
        let run = container.run_with_state(state.as_bytes(), &[]);
        run.assert_refused(said);
        let run = container.run_with_state(state.as_bytes(), &["--on-error=skip"]);
        run.assert_refused(said);
    }
    assert_eq!(container.vm_files(), [""; 0]);
    // A directory of the node has no VM mount.
    let state = json!({"root": container.path("canary")}).to_string();
    let option = format!("--attributes={}", container.path("metadata.json").display());
    let run = container.run_with_state(state.as_bytes(), &[&option]);
    run.assert_refused("is not in the container");
    count::compare(&before, &container.canary(), "states");
}

/// A state that never ends is given up, with a word of why, before the runtime loses patience.
fn an_endless_state() {
    let container = Container::new();
    let mut child = Command::new(container.hook())
        .arg("create-container")
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stdin = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    count::run();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("did not end within 8 s"), "{said}");
}

/// Puts something in the place of `config.json`.
type Arrange<'a> = &'a dyn Fn(&PathBuf);

fn bundles() {
    let long = format!("{{\"x\":\"{}\"}}", "x".repeat(17 << 20));
    let cases: [(&str, Arrange<'_>, &str); 7] = [
        (
            "none",
            &|file| fs::remove_file(file).unwrap(),
            "cannot be opened",
        ),
        (
            "a FIFO",
            &|file| {
                fs::remove_file(file).unwrap();
                assert!(Command::new("mkfifo").arg(file).status().unwrap().success());
            },
            "this is not a regular file",
        ),
        (
            "a directory",
            &|file| {
                fs::remove_file(file).unwrap();
                fs::create_dir(file).unwrap();
            },
            "this is not a regular file",
        ),
        (
            "a device",
            &|file| {
                fs::remove_file(file).unwrap();
                symlink("/dev/zero", file).unwrap();
            },
            "this is not a regular file",
        ),
        (
            "a link to itself",
            &|file| {
                fs::remove_file(file).unwrap();
                symlink("config.json", file).unwrap();
            },
            "cannot be opened",
        ),
        (
            "too long",
            &|file| fs::write(file, &long).unwrap(),
            "this is not a regular file",
        ),
        (
            "the node's root",
            &|file| fs::write(file, json!({"root": {"path": "/"}}).to_string()).unwrap(),
            "is the node's own root directory",
        ),
    ];
    for (name, arrange, said) in cases {
        let container = Container::new();
        let before = container.canary();
        arrange(&container.path("bundle/config.json"));
        container.run(&[]).assert_refused(said);
        container.run(&["--on-error=skip"]).assert_refused(said);
        assert_eq!(container.vm_files(), [""; 0], "{name}");
        count::compare(&before, &container.canary(), name);
    }
}

pub(crate) const CHECKS: &[(&str, fn())] = &[
    ("29_states_and_30_what_they_lack", states),
    ("29b_a_state_that_never_ends", an_endless_state),
    ("31_bundles", bundles),
];
