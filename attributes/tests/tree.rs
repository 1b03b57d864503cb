//! A directory of metadata files, and what a stranger may put into it.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::symlink;
use std::path::Path;

use device_attributes::read::tree::{Broken, read_tree, read_tree_where};
use device_attributes::read::{Form, Reading};
use device_attributes::{ReadError, ReadErrorKind, TreeLimit, limits};
use rustix::fs::{CWD, FileType, Mode, mknodat};

struct Tree(tempfile::TempDir);

impl Tree {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self) -> Result<Reading, ReadError> {
        read_tree("D", File::open(self.path()).unwrap().as_fd())
    }

    fn read_rejecting(&self) -> Result<Reading, ReadError> {
        let directory = File::open(self.path()).unwrap();
        read_tree_where("D", directory.as_fd(), Broken::Reject, &mut |_, _| Ok(true))
    }
}

fn metadata(claim: &str, request: &str, driver: &str, device: &str, generation: u32) -> String {
    format!(
        r#"{{"kind": "DeviceMetadata", "apiVersion": "metadata.resource.k8s.io/v1beta1",
            "metadata": {{"namespace": "default", "name": "{claim}", "generation": {generation}}},
            "requests": [{{"name": "{request}", "devices": [
                {{"driver": "{driver}", "pool": "p", "name": "{device}"}}]}}]}}"#
    )
}

fn devices(reading: &Reading) -> Vec<String> {
    let devices = reading.document.devices.iter();
    devices
        .map(|device| device.identity().to_string())
        .collect()
}

// kubevirt `pkg/dra/utils.go` (case 94).
#[test]
fn both_path_forms_and_several_drivers_of_a_request() {
    let tree = Tree::new();
    for (path, text) in [
        (
            "resourceclaims/a/r/x.example.com-metadata.json",
            metadata("a", "r", "x.example.com", "d1", 1),
        ),
        (
            "resourceclaims/a/r/y.example.com-metadata.json",
            metadata("a", "r", "y.example.com", "d2", 1),
        ),
        (
            "resourceclaims/a/gpu/x.example.com-metadata.json",
            metadata("a", "gpu/small", "x.example.com", "d3", 1),
        ),
        (
            "resourceclaimtemplates/nic/r/x.example.com-metadata.json",
            metadata("a-7xk2p", "r", "x.example.com", "d4", 1),
        ),
        ("resourceclaims/a/r/notes.txt", "not read".to_owned()),
    ] {
        tree.write(path, &text);
    }
    let reading = tree.read().unwrap();
    assert_eq!(reading.form, Form::Stream);
    assert_eq!(
        devices(&reading),
        ["a/gpu/small (d3)", "a/r (d1)", "a/r (d2)", "a-7xk2p/r (d4)"]
    );
    assert!(
        reading.notes.is_empty() && reading.rejected.is_empty(),
        "{reading:?}"
    );

    // Any directory on the way is a root as well.
    for (root, count) in [
        ("resourceclaims", 3),
        ("resourceclaims/a", 3),
        ("resourceclaims/a/r", 2),
    ] {
        let directory = File::open(tree.path().join(root)).unwrap();
        let reading = read_tree("D", directory.as_fd()).unwrap();
        assert_eq!(reading.document.devices.len(), count, "{root}");
    }
}

#[test]
fn the_layout_of_a_node_is_read_too() {
    let tree = Tree::new();
    tree.write(
        "default_a/r/metadata.json",
        &metadata("a", "r", "x", "d", 1),
    );
    assert_eq!(devices(&tree.read().unwrap()), ["a/r (d)"]);
}

#[test]
fn nothing_in_it_is_no_devices() {
    let tree = Tree::new();
    assert!(tree.read().unwrap().document.devices.is_empty());
    fs::create_dir_all(tree.path().join("resourceclaims/a/r")).unwrap();
    assert!(tree.read().unwrap().document.devices.is_empty());
}

#[test]
fn a_device_in_two_files_is_there_once_in_its_newest_generation() {
    let tree = Tree::new();
    tree.write("1/x-metadata.json", &metadata("a", "r", "x", "d", 2));
    tree.write("2/x-metadata.json", &metadata("a", "r", "x", "d", 1));
    let reading = tree.read().unwrap();
    let [device] = reading.document.devices.as_slice() else {
        panic!("{reading:?}");
    };
    assert_eq!(device.claim.as_ref().unwrap().generation, 2);
}

#[test]
fn a_broken_file_ends_the_reading_or_is_rejected_alone() {
    let tree = Tree::new();
    tree.write(
        "resourceclaims/a/r/x-metadata.json",
        &metadata("a", "r", "x", "d", 1),
    );
    tree.write(
        "resourceclaims/b/vf/nic.example.com-metadata.json",
        "{\"kind\": ",
    );
    let text = "D/resourceclaims/b/vf/nic.example.com-metadata.json:1:9: the JSON text ends too \
                early: the file is cut or still being written";
    assert_eq!(tree.read().unwrap_err().to_string(), text);

    let reading = tree.read_rejecting().unwrap();
    assert_eq!(devices(&reading), ["a/r (d)"]);
    let [rejected] = reading.rejected.as_slice() else {
        panic!("{reading:?}");
    };
    assert_eq!(rejected.error.to_string(), text);
    assert!(rejected.error.may_be_unfinished());
    // The path says as much of the device as it can.
    assert_eq!(rejected.identity.request.as_ref().unwrap().as_str(), "vf");
    assert_eq!(
        rejected.identity.driver.as_ref().unwrap().as_str(),
        "nic.example.com"
    );
}

#[test]
fn what_is_no_file_is_named_and_never_opened() {
    let tree = Tree::new();
    tree.write("r/ok-metadata.json", &metadata("a", "r", "x", "d", 1));
    let fifo = tree.path().join("r/x-metadata.json");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR, 0).unwrap();
    let text = "D/r/x-metadata.json: this is a FIFO, not a regular file";
    assert_eq!(tree.read().unwrap_err().to_string(), text);
    assert_eq!(devices(&tree.read_rejecting().unwrap()), ["a/r (d)"]);

    fs::remove_file(&fifo).unwrap();
    fs::create_dir(&fifo).unwrap();
    let text = "D/r/x-metadata.json: this is a directory, not a regular file";
    assert_eq!(tree.read().unwrap_err().to_string(), text);

    // A claim may be called like that.
    tree.write(
        "r/x-metadata.json/r/ok-metadata.json",
        &metadata("b", "r", "x", "d", 1),
    );
    assert_eq!(devices(&tree.read().unwrap()), ["a/r (d)", "b/r (d)"]);
}

// kata-containers#10411 (case 86).
#[test]
fn links_are_followed_below_their_directory_only() {
    let outside = Tree::new();
    outside.write(
        "secret-metadata.json",
        &metadata("secret", "r", "x", "d", 1),
    );
    let tree = Tree::new();
    // As the kubelet projects a ConfigMap.
    tree.write(
        "..2026_11_30/nic-metadata.json",
        &metadata("a", "r", "x", "d", 1),
    );
    symlink("..2026_11_30", tree.path().join("..data")).unwrap();
    symlink(
        "..data/nic-metadata.json",
        tree.path().join("nic-metadata.json"),
    )
    .unwrap();
    // As an attacker would have it.
    let secret = outside.path().join("secret-metadata.json");
    fs::create_dir(tree.path().join("r")).unwrap();
    symlink(&secret, tree.path().join("r/absolute-metadata.json")).unwrap();
    symlink(
        "../nic-metadata.json",
        tree.path().join("r/above-metadata.json"),
    )
    .unwrap();
    symlink(
        "/proc/self/root/etc/hostname",
        tree.path().join("r/magic-metadata.json"),
    )
    .unwrap();
    symlink("nowhere", tree.path().join("r/dangling-metadata.json")).unwrap();
    symlink(
        "loop-metadata.json",
        tree.path().join("r/loop-metadata.json"),
    )
    .unwrap();
    symlink(outside.path(), tree.path().join("directory")).unwrap();

    let reading = tree.read().unwrap();
    assert_eq!(devices(&reading), ["a/r (d)"]);
    let passed_over = ["above", "absolute", "dangling", "loop", "magic"].map(|name| {
        format!("D/r/{name}-metadata.json: this symbolic link leads to no file below its directory: passed over")
    });
    let linked = "D/directory: this symbolic link may lead to a directory: passed over".to_owned();
    let mut expected = vec![linked];
    expected.extend(passed_over);
    assert_eq!(reading.notes, expected);
}

#[test]
fn the_caller_may_choose_the_files() {
    let tree = Tree::new();
    tree.write("a/x-metadata.json", &metadata("a", "r", "x", "d", 1));
    tree.write("b/x-metadata.json", "not even JSON");
    let directory = File::open(tree.path()).unwrap();
    let mut asked = Vec::new();
    let reading = read_tree_where("D", directory.as_fd(), Broken::Fail, &mut |name, file| {
        asked.push((name.to_owned(), rustix::fs::fstat(file).unwrap().st_size));
        Ok(name.starts_with("D/a/"))
    })
    .unwrap();
    assert_eq!(devices(&reading), ["a/r (d)"]);
    assert_eq!(
        reading.notes,
        ["D/b/x-metadata.json: this file is not one of those that are read: passed over"]
    );
    assert_eq!(asked[1], ("D/b/x-metadata.json".to_owned(), 13));

    let refusal = || ReadError::file("D/a/x-metadata.json", ReadErrorKind::Io("no mount".into()));
    let error = read_tree_where("D", directory.as_fd(), Broken::Fail, &mut |_, _| {
        Err(refusal())
    });
    assert_eq!(error.unwrap_err(), refusal());
}

#[test]
fn names_do_not_steer_the_terminal() {
    let tree = Tree::new();
    tree.write("\u{1b}[2J/x-metadata.json", "");
    assert_eq!(
        tree.read().unwrap_err().to_string(),
        "D/\\u{1b}[2J/x-metadata.json: the file is empty: it may not have been written yet"
    );
}

#[test]
fn depth_is_bounded() {
    let tree = Tree::new();
    tree.write("1/2/3/x-metadata.json", &metadata("a", "r", "x", "d", 1));
    tree.write("1/2/3/4/y-metadata.json", &metadata("b", "r", "x", "d", 1));
    let reading = tree.read().unwrap();
    assert_eq!(devices(&reading), ["a/r (d)"]);
    assert_eq!(
        reading.notes,
        ["D/1/2/3/4: a directory so deep is none of a metadata tree: passed over"]
    );
}

#[test]
fn files_names_and_bytes_are_bounded() {
    let limit = |tree: &Tree| match tree.read_rejecting().unwrap_err().kind {
        ReadErrorKind::Tree(limit) => limit,
        other => panic!("{other}"),
    };
    let text = metadata("a", "r", "x", "d", 1);
    let tree = Tree::new();
    for number in 0..limits::FILES {
        tree.write(&format!("{number}-metadata.json"), &text);
    }
    assert_eq!(devices(&tree.read().unwrap()), ["a/r (d)"]);
    tree.write("one-more-metadata.json", &text);
    assert_eq!(limit(&tree), TreeLimit::Files);
    assert_eq!(
        tree.read().unwrap_err().to_string(),
        "D: the metadata files below this directory are too many: 512 files is the limit"
    );

    let tree = Tree::new();
    for number in 0..=limits::TREE_ENTRIES {
        tree.write(&format!("{number}"), "");
    }
    assert_eq!(limit(&tree), TreeLimit::Entries);

    let tree = Tree::new();
    let blank = " ".repeat(limits::FILE_BYTES - text.len());
    let large = format!("{text}{blank}");
    for number in 0..=limits::TREE_BYTES / limits::FILE_BYTES {
        tree.write(&format!("{number}-metadata.json"), &large);
    }
    assert_eq!(limit(&tree), TreeLimit::Bytes);
}
