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
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use container::{Container, METADATA, METADATA_FILE, VM_MOUNT, assert_written, canary, names};

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
fn a_link_that_is_swapped_all_the_time_leads_nowhere_else() {
    let mut container = Container::with_metadata(METADATA);
    // The canary is a mount of its own, as the VM mount must be.
    let path = container.path("canary");
    container.mounts.push((path.clone(), path.clone()));
    let before = canary(&container);
    let link = container.root("var/run/device-attributes");
    fs::remove_file(container.root("var/run")).unwrap();
    fs::create_dir(container.root("var/run")).unwrap();
    symlink(
        "/run/kubernetes.io",
        container.root("var/run/kubernetes.io"),
    )
    .unwrap();
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let next = container.root("var/run/next");
            while !ended.load(Ordering::Relaxed) {
                for target in [
                    path.as_path(),
                    Path::new("../../../../run/device-attributes"),
                ] {
                    symlink(target, &next).unwrap();
                    fs::rename(&next, &link).unwrap();
                }
            }
        });
        let codes: Vec<_> = (0..40).map(|_| container.run(&[]).code).collect();
        ended.store(true, Ordering::Relaxed);
        for code in codes {
            assert!(matches!(code, Some(0 | 1)), "{code:?}");
        }
    });
    assert_eq!(canary(&container), before);
    fs::remove_file(&link).unwrap();
    symlink("../../run/device-attributes", &link).unwrap();
    container.run(&[]).assert_success();
    assert_written(&container);
}
