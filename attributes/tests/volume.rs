//! A projected volume of Kubernetes, whose files are exchanged while they are read.
#![allow(clippy::unwrap_used, missing_docs)]

use std::fs::{self, File};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::symlink;
use std::path::Path;

use device_attributes::read::Reading;
use device_attributes::read::tree::{Broken, read_tree_where};
use device_attributes::{ReadErrorKind, limits};

fn metadata(request: &str, generation: u32) -> String {
    format!(
        r#"{{"kind": "DeviceMetadata", "apiVersion": "metadata.resource.k8s.io/v1beta1",
            "metadata": {{"namespace": "default", "name": "a", "generation": {generation}}},
            "requests": [{{"name": "{request}", "devices": [
                {{"driver": "d.example.com", "pool": "p", "name": "d{generation}"}}]}}]}}"#
    )
}

fn devices(reading: &Reading) -> Vec<String> {
    let devices = reading.document.devices.iter();
    devices
        .map(|device| device.identity().to_string())
        .collect()
}

/// A volume of two files, whose versions are exchanged by one rename, as the kubelet does.
fn exchange(tree: &Path, generation: u32) {
    let version = format!("..{generation}");
    fs::create_dir(tree.join(&version)).unwrap();
    for (file, request) in [("x-metadata.json", "x"), ("y-metadata.json", "y")] {
        let text = metadata(request, generation);
        fs::write(tree.join(&version).join(file), text).unwrap();
    }
    symlink(&version, tree.join("..data_tmp")).unwrap();
    fs::rename(tree.join("..data_tmp"), tree.join("..data")).unwrap();
}

// kata-containers#10411 (case 86).
#[test]
fn files_that_are_exchanged_while_they_are_read_are_read_again() {
    let tree = tempfile::tempdir().unwrap();
    for file in ["x-metadata.json", "y-metadata.json"] {
        symlink(Path::new("..data").join(file), tree.path().join(file)).unwrap();
    }
    for (exchanges, expected) in [(0, "d0"), (1, "d2"), (3, "d6")] {
        let mut generation = expected[1..].parse::<u32>().unwrap() - exchanges;
        exchange(tree.path(), generation);
        let last = generation + exchanges;
        let directory = File::open(tree.path()).unwrap();
        let reading = read_tree_where("D", directory.as_fd(), Broken::Fail, &mut |name, _| {
            // Between the first file and the second.
            if name.ends_with("y-metadata.json") && generation < last {
                generation += 1;
                exchange(tree.path(), generation);
            }
            Ok(true)
        });
        let both = [format!("a/x ({expected})"), format!("a/y ({expected})")];
        assert_eq!(devices(&reading.unwrap()), both);
    }
    // Each time: no answer rather than half of one.
    let mut generation = 9;
    let directory = File::open(tree.path()).unwrap();
    let error = read_tree_where("D", directory.as_fd(), Broken::Fail, &mut |_, _| {
        generation += 1;
        exchange(tree.path(), generation);
        Ok(true)
    });
    let error = error.unwrap_err();
    assert_eq!(error.kind, ReadErrorKind::Changing);
    assert!(error.may_be_unfinished());
    // As many names as any directory may have, and not half of them.
    for number in 0..limits::TREE_ENTRIES - 100 {
        File::create(tree.path().join(format!("other-{number}"))).unwrap();
    }
    let directory = File::open(tree.path()).unwrap();
    let all = &mut |_: &str, _: BorrowedFd<'_>| Ok(true);
    let reading = read_tree_where("D", directory.as_fd(), Broken::Fail, all).unwrap();
    let now = format!("(d{generation})");
    assert_eq!(
        devices(&reading),
        [format!("a/x {now}"), format!("a/y {now}")]
    );
}
