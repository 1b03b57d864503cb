//! The recipe of a containerDisk, built by podman, and the disk of packages for a stock image.
#![allow(clippy::unwrap_used, missing_docs)]

use std::fs;
use std::path::Path;
use std::process::Command;

use dra_guest_tests::command::stdout_of;
use dra_guest_tests::programs::workspace;

/// What KubeVirt looks for: `pkg/container-disk/container-disk.go`, and its user `qemu` (107).
#[test]
fn the_disk_is_where_kubevirt_looks_and_its_users() {
    let scratch = tempfile::tempdir().unwrap();
    let path = |name: &str| scratch.path().join(name);
    fs::create_dir(path("context")).unwrap();
    fs::write(path("root.img"), vec![0; 1 << 20]).unwrap();
    stdout_of(
        Command::new("qemu-img")
            .args(["convert", "-f", "raw", "-O", "qcow2", "-c"])
            .args([path("root.img"), path("context/disk.qcow2")]),
    )
    .unwrap();
    let store = path("store");
    let podman = || {
        let mut command = Command::new("podman");
        // A store of its own, and no network: the image has nothing but the disk.
        command
            .arg("--root")
            .arg(&store)
            .arg("--runroot")
            .arg(path("run"));
        command.args(["--storage-driver=vfs", "--cgroup-manager=cgroupfs"]);
        command
    };
    stdout_of(
        podman()
            .args(["build", "--quiet", "--tag", "disk:1", "--file"])
            .arg(workspace().join("vm-images/container-disk/Containerfile"))
            .arg(path("context")),
    )
    .unwrap();
    stdout_of(
        podman()
            .args(["save", "--quiet", "--format=oci-dir", "--output"])
            .arg(path("image"))
            .arg("disk:1"),
    )
    .unwrap();
    let listed = files_of(&path("image"));
    let disk: Vec<&String> = listed
        .iter()
        .filter(|it| it.contains("disk/disk.qcow2"))
        .collect();
    assert_eq!(disk.len(), 1, "{listed:?}");
    assert!(disk.iter().all(|it| it.contains("107/107")), "{disk:?}");
}

/// What `tar` lists of each layer, compressed or not.
fn files_of(image: &Path) -> Vec<String> {
    let mut listed = Vec::new();
    for entry in fs::read_dir(
        image
            .join("blobs/sha256")
            .canonicalize()
            .unwrap_or(image.to_owned()),
    )
    .unwrap()
    {
        let path = entry.unwrap().path();
        let output = Command::new("tar")
            .args(["--list", "--verbose", "--numeric-owner", "--file"])
            .arg(&path)
            .output()
            .unwrap();
        if output.status.success() {
            let text = String::from_utf8(output.stdout).unwrap();
            listed.extend(text.lines().map(str::to_owned));
        }
    }
    listed
}

#[test]
fn the_disk_of_packages_is_the_same_bytes_twice() {
    let scratch = tempfile::tempdir().unwrap();
    let path = |name: &str| scratch.path().join(name);
    fs::create_dir(path("packages")).unwrap();
    fs::write(
        path("packages/dra-guest-agent_0.1.0-1_amd64.deb"),
        "a package",
    )
    .unwrap();
    fs::write(path("packages/dra-guest-node_0.1.0-1_amd64.deb"), "another").unwrap();
    let recipe = workspace().join("vm-images/container-disk/package-disk.sh");
    for out in ["first.iso", "second.iso"] {
        stdout_of(
            Command::new(&recipe)
                .args([path("packages"), path(out)])
                .env("SOURCE_DATE_EPOCH", "1767225600"),
        )
        .unwrap();
    }
    let first = fs::read(path("first.iso")).unwrap();
    assert!(first == fs::read(path("second.iso")).unwrap());
    let text = String::from_utf8_lossy(&first);
    assert!(text.contains("DRA-GUEST") && text.contains("a package"));
    assert!(!text.contains("another"));

    let none = Command::new(&recipe)
        .args([path("context"), path("third.iso")])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&none.stderr);
    assert!(
        !none.status.success() && said.contains("make packages"),
        "{said}"
    );
}
