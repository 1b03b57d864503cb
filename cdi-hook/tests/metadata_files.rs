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
    assert!(
        outcome.stderr.contains("it is the image's or a volume's"),
        "{}",
        outcome.stderr
    );
    assert_eq!(container.document(), None);
}

#[test]
fn metadata_of_a_volume_is_a_strangers_claim_too() {
    // An engine fills the volume that an image asks for from the image.
    for target in [
        "run/kubernetes.io/dra-device-attributes",
        "run/dra-device-attributes",
        "run/kubernetes.io",
    ] {
        let mut container = Container::with_vm_mount();
        let volume = container.path("volume");
        for above in ["", "dra-device-attributes"] {
            let directory = volume.join(above).join("resourceclaims/vm-nic-7xk2p/vf");
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join("sriov.example.com-metadata.json"), METADATA).unwrap();
        }
        container.mount(&volume, target);
        let outcome = container.run(&[]);
        outcome.assert_success();
        let text = "is not a mount of its own, as a DRA driver's file is";
        assert!(
            outcome.stderr.contains(text),
            "{target}: {}",
            outcome.stderr
        );
        assert_eq!(container.document(), None, "{target}");
    }
}

#[test]
fn metadata_counts_from_the_older_path_and_inside_a_volume() {
    for (volume, target) in [
        (
            None,
            "run/dra-device-attributes/resourceclaims/nic/vf/sriov.example.com-metadata.json",
        ),
        (Some("run/kubernetes.io"), METADATA_FILE),
    ] {
        let mut container = Container::with_vm_mount();
        let file = container.path("metadata.json");
        fs::write(&file, METADATA).unwrap();
        if let Some(volume) = volume {
            let source = container.path("volume");
            let place = source.join(target.strip_prefix(volume).unwrap().trim_start_matches('/'));
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(place, "").unwrap();
            container.mount(&source, volume);
        }
        container.mount(&file, target);
        container.run(&[]).assert_success();
        assert!(container.document().is_some(), "{target}");
    }
}

#[test]
fn a_link_in_the_metadata_tree_is_not_followed_out_of_it() {
    let container = Container::with_vm_mount();
    let secret = container.path("canary/secret-metadata.json");
    fs::write(&secret, METADATA).unwrap();
    let directory = container.path("published/resourceclaims/nic/vf");
    fs::create_dir_all(&directory).unwrap();
    symlink(&secret, directory.join("sriov.example.com-metadata.json")).unwrap();
    let published = container.path("published");
    let outcome = container.run(&["--metadata-dir", published.to_str().unwrap()]);
    outcome.assert_success();
    assert_eq!(container.document(), None);
}
