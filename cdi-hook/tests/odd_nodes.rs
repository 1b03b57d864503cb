//! `install` and `uninstall` on nodes, and with options, that an administrator got wrong; links, and what cannot be written.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod node;

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use node::{HOOK, Node};

const SPEC: &str = "etc/cdi/dra-guest-vm.json";

/// Refused with these words, and nothing is changed.
#[track_caller]
fn assert_refused(node: &Node, options: &[&str], code: i32, words: &str) {
    let before = node.files();
    let (found, lines, stderr) = node.run(&[&["install"], options].concat());
    assert_eq!((found, lines.len()), (Some(code), 0), "{lines:?} {stderr}");
    assert!(stderr.contains(words), "{stderr}");
    assert_eq!(node.files(), before);
}

#[test]
fn a_directory_that_is_a_link_to_nothing_is_told_before_anything_is_done() {
    let node = Node::new();
    symlink("/var/lib/cdi", node.path("etc/cdi")).unwrap();
    assert_refused(&node, &[], 1, "etc/cdi cannot be made or opened");
    assert_refused(&node, &[], 1, "a symbolic link that leads to nothing");
    // Once it leads somewhere, all is well.
    fs::create_dir_all(node.path("var/lib/cdi")).unwrap();
    node.install(&[]);
    assert!(node.path("var/lib/cdi/dra-guest-vm.json").exists());
    let (code, _, stderr) = node.run(&["uninstall"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert!(!node.path("var/lib/cdi/dra-guest-vm.json").exists());
    assert!(node.path("etc/cdi").is_symlink());
}

#[test]
fn a_directory_that_became_a_link_since_stays_one() {
    let node = Node::new();
    node.install(&[]);
    fs::create_dir(node.path("var/lib")).unwrap();
    fs::rename(node.path("etc/cdi"), node.path("var/lib/cdi")).unwrap();
    symlink("/var/lib/cdi", node.path("etc/cdi")).unwrap();
    let (code, lines, stderr) = node.run(&["uninstall"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert!(lines.contains(&format!("removed ROOT/{SPEC}")), "{lines:?}");
    assert!(node.path("etc/cdi").is_symlink());
    assert!(!node.path("usr/local/bin/dra-cdi-hook").exists());
}

#[test]
fn a_file_in_the_place_of_a_directory_is_told_before_anything_is_done() {
    let node = Node::new();
    fs::write(node.path("etc/cdi"), "").unwrap();
    assert_refused(&node, &[], 1, "a part of this path is no directory");
}

#[test]
fn one_path_has_one_spelling() {
    let node = Node::new();
    node.install(&["--prefix", "/opt//hook/"]);
    let spec = fs::read_to_string(node.path(SPEC)).unwrap();
    assert!(spec.contains("\"/opt/hook/bin/dra-cdi-hook\""), "{spec}");
    let lines = node.install(&["--prefix=/opt/hook"]);
    let unchanged = lines.iter().all(|line| line.starts_with("unchanged"));
    assert!(unchanged, "{lines:?}");
    let (code, _, stderr) = node.run(&["uninstall", "--prefix=///opt/hook"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert!(!node.path("opt").exists());
}

#[test]
fn paths_that_mean_another_on_the_node_are_refused() {
    let node = Node::new();
    for path in ["/opt/../usr", "/opt/./hook", "/.."] {
        assert_refused(&node, &["--prefix", path], 2, "a part . or ..");
    }
    assert_refused(&node, &["--cdi-dir", "etc/cdi"], 2, "must be absolute");
}

#[test]
fn a_path_with_spaces_is_a_path() {
    let node = Node::new();
    node.install(&["--prefix=/opt/a b"]);
    let spec = fs::read_to_string(node.path(SPEC)).unwrap();
    assert!(spec.contains("\"/opt/a b/bin/dra-cdi-hook\""), "{spec}");
    assert!(node.path("opt/a b/bin/dra-cdi-hook").exists());
}

#[test]
fn links_are_followed_inside_the_nodes_root_only() {
    let node = Node::new();
    fs::remove_dir_all(node.path("var/run")).ok();
    fs::create_dir_all(node.path("run")).unwrap();
    symlink("/run", node.path("var/run")).unwrap();
    node.install(&[]);
    assert!(node.path("run/cdi").is_dir());
    // A link in the place of a file is somebody's, and is never written through.
    fs::write(node.path("canary"), "canary").unwrap();
    fs::remove_file(node.path(SPEC)).unwrap();
    symlink(node.path("canary"), node.path(SPEC)).unwrap();
    assert_eq!(node.run(&["install"]).0, Some(1));
    node.install(&["--force"]);
    assert!(node.path(SPEC).symlink_metadata().unwrap().is_file());
    assert_eq!(fs::read(node.path("canary")).unwrap(), b"canary");
}

#[test]
fn a_read_only_directory_is_named_with_what_to_do() {
    let node = Node::new();
    fs::create_dir_all(node.path("etc/cdi")).unwrap();
    let output = Command::new("unshare")
        .args(["--mount", "--propagation=private", "sh", "-c"])
        .arg(
            "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\" && shift && exec \"$@\"",
        )
        .arg("sh")
        .arg(node.path("etc"))
        .args([HOOK, "install", "--root"])
        .arg(node.path(""))
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.contains("/etc/cdi/dra-guest-vm.json cannot be written")
            && stderr.contains("Read-only file system")
            && stderr.contains("name a directory with --cdi-dir"),
        "{stderr}"
    );
}
