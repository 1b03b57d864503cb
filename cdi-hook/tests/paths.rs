//! Paths of the container that a stranger made: what is written, where, and what is refused.
//!
//! Each case compares a canary outside the container before and after.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod container;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use container::{Container, METADATA, METADATA_FILE, VM_MOUNT, names};

/// What a program could change of a file.
#[derive(Debug, PartialEq, Eq)]
struct FileState {
    path: PathBuf,
    content: Vec<u8>,
    inode: u64,
    mode: u32,
    owner: (u32, u32),
    modified: (i64, i64),
}

/// The canary and its files.
fn canary(container: &Container) -> Vec<FileState> {
    let directory = container.path("canary");
    let mut paths = vec![directory.clone()];
    paths.extend(names(&directory).iter().map(|name| directory.join(name)));
    paths
        .into_iter()
        .map(|path| {
            let stat = fs::symlink_metadata(&path).unwrap();
            FileState {
                content: fs::read(&path).unwrap_or_default(),
                inode: stat.ino(),
                mode: stat.mode(),
                owner: (stat.uid(), stat.gid()),
                modified: (stat.mtime(), stat.mtime_nsec()),
                path,
            }
        })
        .collect()
}

fn assert_written(container: &Container) {
    let file = container.path("vm/device-attributes.json");
    let stat = fs::symlink_metadata(&file).unwrap();
    assert!(stat.is_file());
    assert_eq!(stat.mode() & 0o7777, 0o644);
    assert_eq!(stat.uid(), rustix::process::geteuid().as_raw());
    assert!(
        fs::read_to_string(file)
            .unwrap()
            .starts_with("{\n  \"apiVersion\": \"dra-guest/v1\"")
    );
    assert_eq!(container.vm_files(), ["device-attributes.json"]);
}

/// A container whose image chose what stands in the VM mount's place.
fn without_vm_mount() -> Container {
    let mut container = Container::bare();
    let file = container.path("metadata.json");
    fs::write(&file, METADATA).unwrap();
    container.mount(&file, METADATA_FILE);
    container
}

#[test]
fn links_inside_the_root_file_system_are_followed_as_the_container_would() {
    for target in [
        "/run",
        "../run",
        "../../../../run",
        "/var/../run",
        "/./run//",
    ] {
        let container = Container::with_metadata(METADATA);
        fs::remove_file(container.root("var/run")).unwrap();
        symlink(target, container.root("var/run")).unwrap();
        container.run(&[]).assert_success();
        assert_written(&container);
    }
}

/// A container whose image has `link` in the VM mount's place, and a canary that is a mount of its
/// own: only where the path is resolved keeps the hook from it.
fn with_link(link: impl Fn(&str) -> String) -> Container {
    let mut container = without_vm_mount();
    let path = container.path("canary");
    container.mounts.push((path.clone(), path.clone()));
    let target = link(path.to_str().unwrap());
    symlink(target, container.root(VM_MOUNT)).unwrap();
    container
}

fn assert_refused(container: &Container, text: &str) {
    let before = canary(container);
    container.run(&[]).assert_error(text);
    assert_eq!(canary(container), before);
    assert_eq!(container.vm_files(), [""; 0]);
}

#[test]
fn links_out_of_the_root_file_system_lead_nowhere() {
    for prefix in [
        "",
        "../../../../../../../../../..",
        "/../../..",
        "/proc/1/root",
    ] {
        let container = with_link(|canary| format!("{prefix}{canary}"));
        assert_refused(
            &container,
            "is not in the container (No such file or directory",
        );
    }
    for (target, text) in [
        ("/", "is not a mount of its own"),
        ("/../..", "is not a mount of its own"),
        ("kubernetes.io", "is not a mount of its own"),
        (
            "device-attributes",
            "cannot be resolved safely: Too many levels of symbolic links",
        ),
    ] {
        assert_refused(&with_link(|_| target.to_owned()), text);
    }
}

#[test]
fn magic_links_of_a_mounted_proc_are_shut() {
    let links: [fn(&str) -> String; 3] = [
        |canary| format!("/proc/self/root{canary}"),
        |canary| format!("/proc/1/root{canary}"),
        |_| "/proc/self/cwd".to_owned(),
    ];
    for link in links {
        let mut container = with_link(link);
        fs::create_dir(container.root("proc")).unwrap();
        let proc = container.root("proc");
        container.mounts.push(("/proc".into(), proc));
        assert_refused(&container, "cannot be resolved safely");
    }
}

#[test]
fn a_vm_mount_must_be_the_root_of_a_mount() {
    let container = without_vm_mount();
    let text = "the VM mount /var/run/device-attributes is not in the container (No such file or directory";
    container.run(&[]).assert_error(text);
    fs::create_dir(container.root(VM_MOUNT)).unwrap();
    container
        .run(&[])
        .assert_error("the VM mount /var/run/device-attributes is not a mount of its own");
    assert_eq!(names(&container.root(VM_MOUNT)), [""; 0]);
    fs::remove_dir(container.root(VM_MOUNT)).unwrap();
    fs::write(container.root(VM_MOUNT), "").unwrap();
    container
        .run(&[])
        .assert_error("is not in the container (Not a directory");

    let container = Container::with_metadata(METADATA);
    fs::create_dir(container.path("vm/sub")).unwrap();
    container
        .run(&["--vm-mount", "/run/device-attributes/sub"])
        .assert_error("the VM mount /run/device-attributes/sub is not a mount of its own");
    container
        .run(&["--vm-mount", "/"])
        .assert_error("the VM mount / is not a mount of its own");
    let long = format!("/{}", "x".repeat(300));
    container
        .run(&["--vm-mount", &long])
        .assert_error("cannot be resolved safely: File name too long");
    assert_eq!(container.vm_files(), ["sub"]);
}

#[test]
fn what_stands_in_the_documents_place_is_replaced_and_never_touched() {
    type Make = fn(&Path, &Path);
    let cases: [(&str, Make); 7] = [
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
        .assert_error("/var/run/device-attributes/device-attributes.json cannot be written: rename: Is a directory");
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
