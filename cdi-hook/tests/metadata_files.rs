//! Which metadata files of the container count, and which are a stranger's claim.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod container;

use std::fs;
use std::os::unix::fs::symlink;

use container::{Container, METADATA, METADATA_FILE};

#[test]
fn metadata_of_the_image_is_a_strangers_claim() {
    let container = Container::with_vm_mount();
    let file = container.root(METADATA_FILE);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, METADATA).unwrap();
    let outcome = container.run(&[]);
    outcome.assert_success();
    assert!(outcome.stderr.contains("the image"), "{}", outcome.stderr);
    assert_eq!(container.document(), None);
}

#[test]
fn metadata_counts_from_a_mounted_directory_and_from_the_older_path() {
    for target in [
        "run/kubernetes.io/dra-device-attributes",
        "run/dra-device-attributes",
        "run/kubernetes.io/dra-device-attributes/resourceclaims/vm-nic-7xk2p",
    ] {
        let mut container = Container::with_vm_mount();
        let inner = if target.ends_with("attributes") {
            "resourceclaims/vm-nic-7xk2p/vf"
        } else {
            "vf"
        };
        let directory = container.path("published").join(inner);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("sriov.example.com-metadata.json"), METADATA).unwrap();
        let source = container.path("published");
        container.mount(&source, target);
        container.run(&[]).assert_success();
        assert!(container.document().is_some(), "{target}");
    }
}

#[test]
fn a_link_in_the_metadata_tree_is_not_followed() {
    let mut container = Container::with_vm_mount();
    let secret = container.path("canary/secret-metadata.json");
    fs::write(&secret, METADATA).unwrap();
    let directory = container.path("published/resourceclaims/nic/vf");
    fs::create_dir_all(&directory).unwrap();
    symlink(&secret, directory.join("sriov.example.com-metadata.json")).unwrap();
    let source = container.path("published");
    container.mount(&source, "run/kubernetes.io/dra-device-attributes");
    container.run(&[]);
    assert_eq!(container.document(), None);
}
