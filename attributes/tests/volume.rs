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

/// What a version was found to have, what was passed over of it, and what was wrong with it, is of that version alone.
// kata-containers#10411 (case 86).
#[test]
fn nothing_is_left_of_a_version_that_is_gone() {
    let tree = tempfile::tempdir().unwrap();
    for file in ["x-metadata.json", "y-metadata.json"] {
        symlink(Path::new("..data").join(file), tree.path().join(file)).unwrap();
    }
    for (broken, in_place) in [
        (Broken::Fail, "x-metadata.json"),
        (Broken::Reject, "x-metadata.json"),
        (Broken::Fail, "y-metadata.json"),
        (Broken::Reject, "y-metadata.json"),
    ] {
        for wrong in [
            None,
            Some("not even JSON".to_owned()),
            Some(metadata("z", 0).replace("\"kind\"", "\"later\": 1, \"kind\"")),
        ] {
            let generation = 1 + fs::read_dir(tree.path()).unwrap().count();
            let generation = u32::try_from(generation).unwrap();
            exchange(tree.path(), generation);
            let file = tree.path().join("..data").join(in_place);
            match wrong {
                Some(text) => fs::write(file, text).unwrap(),
                None => fs::remove_file(file).unwrap(),
            }
            let directory = File::open(tree.path()).unwrap();
            let mut is_exchanged = false;
            let mut exchange_once = || {
                if !is_exchanged {
                    exchange(tree.path(), generation + 1);
                }
                is_exchanged = true;
            };
            let reading = read_tree_where("D", directory.as_fd(), broken, &mut |_, _| {
                exchange_once();
                Ok(true)
            });
            let reading = reading.unwrap();
            let now = format!("(d{})", generation + 1);
            assert_eq!(
                devices(&reading),
                [format!("a/x {now}"), format!("a/y {now}")]
            );
            assert!(reading.notes.is_empty(), "{:?}", reading.notes);
            assert!(reading.rejected.is_empty(), "{:?}", reading.rejected);
        }
    }
}

/// The bounds are those of the files that there are, however often they were read.
#[test]
fn what_is_read_again_counts_once() {
    let tree = tempfile::tempdir().unwrap();
    for file in ["x-metadata.json", "y-metadata.json"] {
        symlink(Path::new("..data").join(file), tree.path().join(file)).unwrap();
    }
    for number in 0..limits::TREE_ENTRIES - 100 {
        File::create(tree.path().join(format!("other-{number}"))).unwrap();
    }
    let mut generation = 1;
    exchange(tree.path(), generation);
    let directory = File::open(tree.path()).unwrap();
    let reading = read_tree_where("D", directory.as_fd(), Broken::Fail, &mut |_, _| {
        if generation < 4 {
            generation += 1;
            exchange(tree.path(), generation);
        }
        Ok(true)
    });
    assert_eq!(devices(&reading.unwrap()), ["a/x (d4)", "a/y (d4)"]);
}
