//! What the shipped hook asks of the kernel.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use dra_guest_tests::programs::static_program;
use serde_json::json;

/// The most system calls of a run that finds no metadata at the end of its directories, and of one
/// that writes a document; the start of a static program is 15 of them, the fence 17. Other file systems and
/// architectures need a few more than the 69 and 87 seen on ext4 and x86-64.
const SYSTEM_CALLS: [usize; 2] = [74, 92];

/// Names of the system calls of one run, in their order.
fn system_calls(metadata: bool) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::create_dir_all(path("root/run/device-attributes")).unwrap();
    fs::create_dir(path("vm")).unwrap();
    fs::write(
        path("metadata.json"),
        include_str!("../../cdi-hook/tests/container/vf-metadata.json"),
    )
    .unwrap();
    let inside = path("root/var/run/kubernetes.io/dra-device-attributes/resourceclaims/nic/vf");
    fs::create_dir_all(&inside).unwrap();
    let inside = inside.join("sriov.example.com-metadata.json");
    let mut script = "set -e; mount --bind \"$1\" \"$2\"; ".to_owned();
    if metadata {
        fs::write(&inside, "").unwrap();
        script.push_str("mount --bind \"$3\" \"$4\"; ");
    }
    script.push_str("shift 4; exec strace -o \"$@\"");
    let mut child = Command::new("unshare")
        .args([
            "--mount",
            "--propagation=private",
            "sh",
            "-c",
            &script,
            "sh",
        ])
        .args([path("vm"), path("root/run/device-attributes")])
        .args([path("metadata.json"), inside])
        .arg(path("trace"))
        .arg(static_program("dra-cdi-hook").unwrap())
        .args(["create-container", "--vm-mount", "/run/device-attributes"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let state = json!({"id": "c", "bundle": path(""), "root": path("root")});
    child
        .stdin
        .take()
        .unwrap()
        .write_all(state.to_string().as_bytes())
        .unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(path("vm/device-attributes.json").exists(), metadata);
    fs::read_to_string(path("trace"))
        .unwrap()
        .lines()
        .filter_map(|line| Some(line.split_once('(')?.0.to_owned()))
        .collect()
}

#[test]
fn it_asks_little_of_the_kernel() {
    for (metadata, most) in [false, true].into_iter().zip(SYSTEM_CALLS) {
        let calls = system_calls(metadata);
        println!("metadata {metadata}: {} system calls", calls.len());
        assert!(calls.len() <= most, "{}: {calls:?}", calls.len());
    }
}

#[test]
fn it_starts_no_program_and_opens_no_connection() {
    let calls = system_calls(true);
    assert!(calls.iter().any(|call| call == "openat2"), "{calls:?}");
    for call in [
        "fork",
        "vfork",
        "clone",
        "clone3",
        "socket",
        "connect",
        "mount",
        "chdir",
        "chroot",
        "symlink",
        "symlinkat",
        "mkdir",
        "mkdirat",
    ] {
        assert!(!calls.iter().any(|made| made == call), "{call}");
    }
    // The one execve is strace's, which starts the hook.
    assert_eq!(calls.iter().filter(|call| *call == "execve").count(), 1);
}
