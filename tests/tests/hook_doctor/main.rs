//! `doctor` on nodes that directories stand in for: `cases/CASE/root` has a node's files, `prepare.sh`
//! does to them what no file can say, and `report.txt` is what the doctor prints.
//!
//! `UPDATE_CASES=1` writes the reports anew; read them before you commit them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use dra_guest_tests::programs::static_program;

fn hook() -> PathBuf {
    static_program("dra-cdi-hook").unwrap()
}

fn cases() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hook_doctor/cases");
    let mut cases: Vec<PathBuf> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    cases.sort();
    cases
}

fn success(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    output
}

#[test]
fn each_case_is_judged_as_it_is_written_down() {
    let mut wrong = Vec::new();
    for case in cases() {
        let name = case.file_name().unwrap().to_str().unwrap();
        let node = tempfile::tempdir().unwrap();
        let root = node.path();
        if case.join("root").is_dir() {
            success(
                Command::new("cp")
                    .arg("-r")
                    .arg(case.join("root/."))
                    .arg(root),
            );
        }
        // A checkout's owner and modes are not the node's.
        success(Command::new("chmod").args(["-R", "u=rwX,go=rX"]).arg(root));
        if case.join("prepare.sh").is_file() {
            success(
                Command::new("sh")
                    .arg("-eu")
                    .arg(case.join("prepare.sh"))
                    .current_dir(root)
                    .env("HOOK", hook()),
            );
        }
        let output = Command::new(hook())
            .args(["doctor", "--root"])
            .arg(root)
            .output()
            .unwrap();
        let mut report = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.stderr, b"", "{name}");
        report = report.replace(env!("CARGO_PKG_VERSION"), "VERSION");
        let code = output.status.code().unwrap();
        report = format!("{report}exit code {code}\n");
        let golden = case.join("report.txt");
        if std::env::var_os("UPDATE_CASES").is_some() {
            fs::write(&golden, &report).unwrap();
        } else if fs::read_to_string(&golden).unwrap_or_default() != report {
            wrong.push(format!("{name}:\n{report}"));
        }
        let problems = report.lines().any(|line| line.starts_with("problem: "));
        assert_eq!(output.status.code(), Some(i32::from(problems)), "{name}");
        let json = Command::new(hook())
            .args(["doctor", "--json", "--root"])
            .arg(root)
            .output()
            .unwrap();
        let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
        let findings = json["findings"].as_array().unwrap();
        assert_eq!(
            findings.iter().any(|finding| finding["level"] == "problem"),
            problems,
            "{name}"
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_hook_on_a_mount_with_noexec_is_found() {
    let node = tempfile::tempdir().unwrap();
    let root = node.path();
    fs::create_dir_all(root.join("usr/local/bin")).unwrap();
    fs::create_dir_all(root.join("usr/bin")).unwrap();
    fs::write(root.join("usr/bin/crio"), "").unwrap();
    success(Command::new(hook()).args(["install", "--root"]).arg(root));
    let output = Command::new("unshare")
        .args(["--mount", "--propagation=private", "sh", "-ec"])
        .arg("mount --bind \"$1\" \"$1\"; mount -o remount,bind,noexec \"$1\"; shift; exec \"$@\"")
        .arg("sh")
        .arg(root.join("usr/local/bin"))
        .arg(hook())
        .args(["doctor", "--root"])
        .arg(root)
        .output()
        .unwrap();
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(
        report.contains("problem: the hook /usr/local/bin/dra-cdi-hook is on a mount with noexec"),
        "{report}"
    );
    assert_eq!(output.status.code(), Some(1));
}

/// On the machine that runs the tests: runtimes are asked for their versions.
#[test]
fn runtimes_of_this_machine_are_found_with_their_versions() {
    let output = Command::new(hook())
        .args(["doctor", "--json"])
        .output()
        .unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let runtimes = report["runtimes"].as_array().unwrap();
    let runc = runtimes
        .iter()
        .find(|runtime| runtime["name"] == "runc")
        .expect("runc is installed");
    assert!(
        runc["version"]
            .as_str()
            .unwrap()
            .starts_with("runc version "),
        "{runc}"
    );
    assert!(report["kernel"].as_str().is_some());
}
