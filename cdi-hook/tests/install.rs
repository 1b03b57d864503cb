//! `install` and `uninstall` on a directory that stands in for a node.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod node;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Command, Stdio};

use node::{HOOK, Node};

const PROGRAM: &str = "usr/local/bin/dra-cdi-hook";
const SPEC: &str = "etc/cdi/dra-guest-vm.json";
const RECORD: &str = "usr/local/lib/dra-guest/dra-cdi-hook.json";
const ENTRY: &str = "etc/containers/oci/hooks.d/dra-guest-vm.json";
const HOOKS_DIR: [&str; 2] = ["--hooks-dir", "/etc/containers/oci/hooks.d"];

#[test]
fn everything_is_put_in_place_and_taken_away_again() {
    let node = Node::new();
    let before = node.files();
    let lines = node.install(&HOOKS_DIR);
    for line in [
        "made ROOT/etc/cdi",
        "made ROOT/var/run/cdi",
        "wrote ROOT/usr/local/bin/dra-cdi-hook",
        "wrote ROOT/etc/cdi/dra-guest-vm.json",
        "wrote ROOT/etc/containers/oci/hooks.d/dra-guest-vm.json",
    ] {
        assert!(lines.iter().any(|found| found == line), "{line}: {lines:?}");
    }
    assert_eq!(
        fs::read(node.path(PROGRAM)).unwrap(),
        fs::read(HOOK).unwrap()
    );
    for (file, mode) in [
        (PROGRAM, 0o755),
        (SPEC, 0o644),
        (ENTRY, 0o644),
        (RECORD, 0o644),
    ] {
        let found = fs::metadata(node.path(file)).unwrap().permissions().mode();
        assert_eq!(found & 0o7777, mode, "{file}");
    }
    assert_eq!(
        fs::read_to_string(node.path(SPEC)).unwrap(),
        include_str!("spec/plain.json")
    );
    assert_eq!(
        fs::read_to_string(node.path(ENTRY)).unwrap(),
        include_str!("spec/hooks.d.json")
    );
    // The record is what an administrator can check, too.
    let record: serde_json::Value =
        serde_json::from_slice(&fs::read(node.path(RECORD)).unwrap()).unwrap();
    for file in record["files"].as_array().unwrap() {
        let path = node.path(file["path"].as_str().unwrap().trim_start_matches('/'));
        let sum = Command::new("sha256sum")
            .arg(&path)
            .output()
            .unwrap()
            .stdout;
        assert!(sum.starts_with(file["sha256"].as_str().unwrap().as_bytes()));
    }

    let (code, lines, _) = node.run(&["uninstall"]);
    assert_eq!(code, Some(0));
    // A spec never names a hook that is not there.
    let position = |name: &str| lines.iter().position(|line| line.ends_with(name)).unwrap();
    assert!(position(SPEC) < position(PROGRAM) && position(ENTRY) < position(PROGRAM));
    assert_eq!(node.files(), before);
    let (code, lines, _) = node.run(&["uninstall"]);
    assert_eq!(code, Some(0));
    assert!(lines[0].starts_with("nothing is installed"), "{lines:?}");
}

#[test]
fn a_second_run_changes_nothing_and_says_so() {
    let node = Node::new();
    node.install(&HOOKS_DIR);
    let before = node.files();
    let inode = fs::metadata(node.path(PROGRAM)).unwrap().ino();
    let lines = node.install(&HOOKS_DIR);
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(
        lines.iter().all(|line| line.starts_with("unchanged ")),
        "{lines:?}"
    );
    assert_eq!(node.files(), before);
    assert_eq!(fs::metadata(node.path(PROGRAM)).unwrap().ino(), inode);
}

#[test]
fn options_of_the_hook_go_into_the_spec() {
    let node = Node::new();
    node.install(&[
        "--on-error=skip",
        "--prefix=/opt/x",
        "--cdi-dir=/var/cdi/static",
    ]);
    let spec = fs::read_to_string(node.path("var/cdi/static/dra-guest-vm.json")).unwrap();
    assert!(spec.contains("\"/opt/x/bin/dra-cdi-hook\""), "{spec}");
    assert!(spec.contains("\"--on-error=skip\""), "{spec}");
    assert!(!node.path("var/run/cdi").exists() && !node.path("etc/cdi").exists());
    assert_eq!(node.run(&["uninstall", "--prefix=/opt/x"]).0, Some(0));
    assert!(!node.path("opt").exists() && !node.path("var/cdi").exists());
}

#[test]
fn a_dry_run_tells_and_changes_nothing() {
    let node = Node::new();
    let before = node.files();
    let lines = node.install(&["--dry-run"]);
    assert!(
        lines
            .iter()
            .any(|line| line == "would write ROOT/etc/cdi/dra-guest-vm.json")
    );
    assert!(
        lines
            .iter()
            .any(|line| line == "would make ROOT/var/run/cdi"),
        "{lines:?}"
    );
    assert_eq!(node.files(), before);
    node.install(&[]);
    let before = node.files();
    let (code, lines, _) = node.run(&["uninstall", "--dry-run"]);
    assert_eq!(code, Some(0));
    assert!(
        lines.iter().all(|line| line.starts_with("would remove ")),
        "{lines:?}"
    );
    assert_eq!(node.files(), before);
}

#[test]
fn a_file_of_somebody_else_is_not_replaced_unless_forced() {
    for file in [PROGRAM, SPEC] {
        let node = Node::new();
        fs::create_dir_all(node.path(file).parent().unwrap()).unwrap();
        fs::write(node.path(file), "mine").unwrap();
        let before = node.files();
        let (code, lines, stderr) = node.run(&["install"]);
        assert_eq!((code, lines), (Some(1), vec![]));
        assert!(
            stderr.contains(&format!("{file} is there already")),
            "{stderr}"
        );
        assert!(stderr.contains("--force replaces it"), "{stderr}");
        assert_eq!(node.files(), before);
        node.install(&["--force"]);
        assert_ne!(fs::read(node.path(file)).unwrap(), b"mine");
    }
}

#[test]
fn a_file_that_was_changed_since_stays_unless_forced() {
    let node = Node::new();
    node.install(&[]);
    fs::write(node.path(SPEC), "changed").unwrap();
    assert_eq!(node.run(&["install"]).0, Some(1));
    let (code, lines, _) = node.run(&["uninstall"]);
    assert_eq!(code, Some(1));
    assert!(
        lines[0].starts_with("left ROOT/etc/cdi/dra-guest-vm.json: "),
        "{lines:?}"
    );
    assert_eq!(fs::read(node.path(SPEC)).unwrap(), b"changed");
    // Which it names, and which the next try is made with.
    assert_eq!(lines[1..], [format!("left ROOT/{PROGRAM}")]);
    assert!(node.path(PROGRAM).exists());
    // It is still known as one of the installation's.
    let (code, lines, _) = node.run(&["uninstall", "--force"]);
    assert_eq!(code, Some(0), "{lines:?}");
    assert!(!node.path(SPEC).exists() && !node.path(RECORD).exists());
    assert!(!node.path(PROGRAM).exists());
}

/// A binary that differs: what stands behind an ELF file's sections does not matter to it.
fn another_version(node: &Node) -> String {
    let other = node.path("other-version");
    let mut bytes = fs::read(HOOK).unwrap();
    bytes.extend_from_slice(b"another");
    fs::write(&other, bytes).unwrap();
    fs::set_permissions(&other, fs::Permissions::from_mode(0o755)).unwrap();
    other.display().to_string()
}

#[test]
fn an_upgrade_replaces_the_binary_also_while_it_runs() {
    let node = Node::new();
    let other = another_version(&node);
    let (code, _, stderr) = node.run_program(&other, &["install"]);
    assert_eq!(code, Some(0), "{stderr}");
    let mut running = Command::new(node.path(PROGRAM))
        .arg("create-container")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = node.install(&[]);
    assert_eq!(
        lines,
        [
            "unchanged ROOT/etc/cdi/dra-guest-vm.json",
            "wrote ROOT/usr/local/bin/dra-cdi-hook"
        ]
    );
    assert!(
        running.try_wait().unwrap().is_none(),
        "it waits for its state"
    );
    drop(running.stdin.take());
    assert_eq!(running.wait().unwrap().code(), Some(1));
    assert_eq!(
        fs::read(node.path(PROGRAM)).unwrap(),
        fs::read(HOOK).unwrap()
    );
}

#[test]
fn a_files_label_is_kept() {
    let node = Node::new();
    let other = another_version(&node);
    assert_eq!(node.run_program(&other, &["install"]).0, Some(0));
    let label = b"system_u:object_r:container_runtime_exec_t:s0\0";
    let program = node.path(PROGRAM);
    let flags = rustix::fs::XattrFlags::empty();
    rustix::fs::setxattr(&program, "security.selinux", label, flags)
        .expect("this test needs root, and a file system with labels");
    node.install(&[]);
    assert_eq!(fs::read(&program).unwrap(), fs::read(HOOK).unwrap());
    let mut found = [0_u8; 64];
    let length = rustix::fs::getxattr(&program, "security.selinux", &mut found).unwrap();
    assert_eq!(&found[..length], label);
}

/// Killed before each of its renames, an installation leaves a node where no spec names a hook that is not
/// there, and where the next one, or an uninstallation, finds its way.
#[test]
fn whatever_interrupts_it_the_next_run_completes_it() {
    for end in ["install", "uninstall"] {
        for count in 1..=4 {
            let node = Node::new();
            let before = node.files();
            let other = another_version(&node);
            if count % 2 == 0 {
                assert_eq!(
                    node.run_program(&other, &["install", "--log=/x"]).0,
                    Some(0)
                );
            }
            let status = Command::new("strace")
                .args(["-qq", "-o", "/dev/null", "-e"])
                .arg(format!(
                    "inject=renameat,renameat2:signal=KILL:error=EIO:when={count}"
                ))
                .args([HOOK, "install", "--root"])
                .arg(node.path(""))
                .stdout(Stdio::null())
                .status()
                .unwrap();
            assert!(!status.success(), "{count}: it was not interrupted");
            if node.path(SPEC).exists() {
                assert!(node.path(PROGRAM).exists(), "{count}");
            }
            let (code, lines, stderr) = node.run(&[end]);
            assert_eq!(code, Some(0), "{end} {count}: {lines:?} {stderr}");
            fs::remove_file(other).unwrap();
            if end == "install" {
                assert_eq!(
                    fs::read(node.path(PROGRAM)).unwrap(),
                    fs::read(HOOK).unwrap()
                );
                assert_eq!(node.run(&["uninstall"]).0, Some(0));
            }
            let left: Vec<String> = node
                .files()
                .into_iter()
                .map(|(path, _)| path)
                .filter(|path| !before.iter().any(|(known, _)| known == path))
                .collect();
            // The first directory is made before there is a record.
            let known: &[&str] = if count == 1 { &["usr/local/lib/"] } else { &[] };
            assert_eq!(left, known, "{end} {count}");
        }
    }
}
