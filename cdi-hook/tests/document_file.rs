//! What stands in the place of the document, and what is left when it cannot be written.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod container;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use container::{Container, METADATA, assert_written, canary};

#[test]
fn what_stands_in_the_documents_place_is_replaced_and_never_touched() {
    type Make = fn(&Path, &Path);
    let cases: [(&str, Make); 8] = [
        ("symbolic link", |file, canary| {
            symlink(canary.join("file"), file).unwrap();
        }),
        ("dangling link", |file, canary| {
            symlink(canary.join("new"), file).unwrap();
        }),
        ("hard link", |file, canary| {
            fs::hard_link(canary.join("file"), file).unwrap();
        }),
        ("older file", |file, _| {
            fs::write(file, "older and longer ".repeat(1000)).unwrap();
        }),
        ("loop", |file, _| {
            symlink("device-attributes.json", file).unwrap();
        }),
        ("FIFO", |file, _| {
            assert!(Command::new("mkfifo").arg(file).status().unwrap().success());
        }),
        ("device", |file, _| {
            let mut mknod = Command::new("mknod");
            assert!(
                mknod
                    .arg(file)
                    .args(["c", "1", "3"])
                    .status()
                    .unwrap()
                    .success()
            );
        }),
        ("closed mode", |file, _| {
            fs::write(file, "x").unwrap();
            fs::set_permissions(file, fs::Permissions::from_mode(0o000)).unwrap();
        }),
    ];
    for (name, make) in cases {
        let container = Container::with_metadata(METADATA);
        make(
            &container.path("vm/device-attributes.json"),
            &container.path("canary"),
        );
        let before = canary(&container);
        let outcome = container.run(&[]);
        assert_eq!(outcome.code, Some(0), "{name}: {}", outcome.stderr);
        assert_written(&container);
        assert_eq!(canary(&container), before, "{name}");
    }
}

#[test]
fn the_same_bytes_are_left_only_where_nobody_else_can_change_them() {
    let container = Container::with_metadata(METADATA);
    let file = container.path("vm/device-attributes.json");
    let inode = || fs::symlink_metadata(&file).unwrap().ino();
    container.run(&[]).assert_success();
    let first = inode();
    container.run(&[]).assert_success();
    assert_eq!(inode(), first);

    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    container.run(&[]).assert_success();
    let second = inode();
    assert_ne!(second, first);
    assert_written(&container);

    fs::hard_link(&file, container.path("canary/link")).unwrap();
    container.run(&[]).assert_success();
    assert_ne!(inode(), second);
    assert_written(&container);
}

#[test]
fn a_directory_in_the_documents_place_is_an_error_that_leaves_nothing() {
    let container = Container::with_metadata(METADATA);
    fs::create_dir(container.path("vm/device-attributes.json")).unwrap();
    container
        .run(&[])
        .assert_error("/var/run/device-attributes/device-attributes.json cannot be written: a directory stands in its place, remove it: Is a directory");
    assert_eq!(container.vm_files(), ["device-attributes.json"]);
}

#[test]
fn a_read_only_or_full_vm_mount_is_an_error_that_leaves_nothing() {
    let mut container = Container::with_metadata(METADATA);
    container.setup = "mount -o remount,bind,ro \"$VM\"".to_owned();
    container
        .run(&[])
        .assert_error("cannot be written: creating a temporary file: Read-only file system");
    assert_eq!(container.vm_files(), [""; 0]);

    // One page of a tmpfs is taken, the other is not enough for a document.
    container.setup = format!(
        "mount -t tmpfs -o size=8k tmpfs \"$VM\"; head -c 4096 /dev/zero > \"$VM\"/filler; trap 'ls -A \"$VM\" > {}' EXIT; set +e; \"$@\"; exit",
        container.path("left").display()
    );
    let large = METADATA.replacen(
        "\"resource.kubernetes.io/numaNode\"",
        &(0..29)
            .map(|number| {
                format!(
                    "\"example.com/{number}\": {{\"strings\": [\"{}\"]}}, ",
                    "x".repeat(400)
                )
            })
            .chain(["\"resource.kubernetes.io/numaNode\"".to_owned()])
            .collect::<String>(),
        1,
    );
    fs::write(container.path("metadata.json"), large).unwrap();
    container
        .run(&[])
        .assert_error("cannot be written: write: No space left on device");
    assert_eq!(
        fs::read_to_string(container.path("left")).unwrap(),
        "filler\n"
    );
}

#[test]
fn hooks_that_run_at_once_leave_one_whole_document() {
    let container = Container::with_metadata(METADATA);
    std::thread::scope(|scope| {
        let hooks: Vec<_> = (0..16)
            .map(|_| scope.spawn(|| container.run(&[])))
            .collect();
        for hook in hooks {
            hook.join().unwrap().assert_success();
        }
    });
    assert_written(&container);
}

#[test]
fn a_mount_in_the_documents_place_is_an_error_that_leaves_nothing() {
    let mut container = Container::with_metadata(METADATA);
    let other = container.path("canary/file");
    container.setup = format!(
        "touch \"$VM\"/device-attributes.json; mount --bind {} \"$VM\"/device-attributes.json",
        other.display()
    );
    container.run(&[]).assert_error(
        "cannot be written: something is mounted in its place, mount it elsewhere: Device or resource busy",
    );
}

#[test]
fn a_killed_hook_leaves_a_file_that_a_later_one_removes() {
    let container = Container::with_metadata(METADATA);
    let hook = [
        "strace",
        "-f",
        "-o",
        "/dev/null",
        "-e",
        "inject=fsync:signal=KILL",
        env!("CARGO_BIN_EXE_dra-cdi-hook"),
        "create-container",
    ];
    let killed = container::feed(container.command(&hook), container.state().as_bytes());
    assert_ne!(killed.code, Some(0));
    let [left] = container
        .vm_files()
        .try_into()
        .unwrap_or_else(|files| panic!("{files:?}"));
    assert!(left.starts_with(".device-attributes.json."), "{left}");

    // It may be one that is being written by another hook.
    container.run(&[]).assert_success();
    assert_eq!(
        container.vm_files(),
        [left.as_str(), "device-attributes.json"]
    );

    let file = fs::File::options()
        .write(true)
        .open(container.path("vm").join(&left))
        .unwrap();
    file.set_modified(SystemTime::now() - Duration::from_hours(1))
        .unwrap();
    for name in [
        ".device-attributes.json.mine",
        ".other.json.0123456789abcdef",
    ] {
        let file = fs::File::create(container.path("vm").join(name)).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    }
    fs::write(
        container.path("metadata.json"),
        METADATA.replace("worker-0", "worker-1"),
    )
    .unwrap();
    container.run(&[]).assert_success();
    assert_eq!(
        container.vm_files(),
        [
            ".device-attributes.json.mine",
            ".other.json.0123456789abcdef",
            "device-attributes.json",
        ]
    );
}

#[test]
fn a_file_of_a_strangers_directory_is_not_opened_unless_it_is_our_own() {
    let container = Container::with_metadata(METADATA);
    let file = container.path("vm/device-attributes.json");
    let mut mknod = Command::new("mknod");
    assert!(
        mknod
            .arg(&file)
            .args(["c", "1", "3"])
            .status()
            .unwrap()
            .success()
    );
    let trace = container.path("trace");
    let hook = [
        "strace",
        "-o",
        trace.to_str().unwrap(),
        "-e",
        "trace=openat,openat2",
        env!("CARGO_BIN_EXE_dra-cdi-hook"),
        "create-container",
    ];
    container::feed(container.command(&hook), container.state().as_bytes()).assert_success();
    let trace = fs::read_to_string(trace).unwrap();
    assert!(trace.contains("\".device-attributes.json."), "{trace}");
    assert!(!trace.contains("\"device-attributes.json\""), "{trace}");
    assert_written(&container);
}
