//! What is wrong around the attributes: the policy, the status, the usage, the terminal.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::{FLAT, agent};

#[test]
fn a_wrong_policy_is_a_configuration_error() {
    let directory = TempDir::new().unwrap();
    let etc = directory.path().join("etc/dra-guest");
    fs::create_dir_all(etc.join("agent.d")).unwrap();
    fs::write(etc.join("agent.toml"), "[[device]]\nmtu = 1400\n").unwrap();
    fs::write(
        etc.join("agent.d/50-nic.toml"),
        "[[device]]\nrenam = \"net1\"\n",
    )
    .unwrap();
    let flat = directory.path().join("flat.json");
    fs::write(&flat, FLAT).unwrap();
    let said = agent(
        directory.path(),
        &["apply", "--attributes", flat.to_str().unwrap()],
    );
    assert_eq!(said.code, 2, "{}", said.stderr);
    assert!(
        said.stderr.contains("50-nic.toml") && said.stderr.contains("renam"),
        "{}",
        said.stderr
    );
    let said = agent(
        directory.path(),
        &[
            "validate",
            etc.join("agent.d/50-nic.toml").to_str().unwrap(),
        ],
    );
    assert_eq!(said.code, 1, "{}", said.stderr);
    let message = "50-nic.toml:2:1: unknown key `renam`: did you mean `rename`?";
    assert!(said.stderr.contains(message), "{}", said.stderr);
}

#[test]
fn check_and_status_say_what_they_miss() {
    let directory = TempDir::new().unwrap();
    for command in ["check", "status"] {
        let said = agent(directory.path(), &[command]);
        assert_eq!(said.code, 4, "{}", said.stderr);
        assert!(said.stderr.contains("status.json"), "{}", said.stderr);
    }
    let run = directory.path().join("run/dra-guest");
    fs::create_dir_all(&run).unwrap();
    fs::write(run.join("status.json"), "{\"ready\": tru").unwrap();
    for command in ["check", "status"] {
        let said = agent(directory.path(), &[command]);
        assert_eq!(said.code, 1, "{}", said.stderr);
        assert!(said.stderr.contains("line 1 column 13"), "{}", said.stderr);
    }
}

#[test]
fn without_attributes_check_says_so_after_apply() {
    let directory = TempDir::new().unwrap();
    let missing = directory.path().join("missing.json");
    let said = agent(
        directory.path(),
        &["apply", "--attributes", missing.to_str().unwrap()],
    );
    assert_eq!(said.code, 4);
    let said = agent(directory.path(), &["check"]);
    assert_eq!(said.code, 4);
    assert!(said.stderr.contains("missing.json"), "{}", said.stderr);
    let status = directory.path().join("run/dra-guest/status.json");
    let mode = fs::metadata(status).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o644);
}

#[test]
fn wrong_usage_exits_2() {
    let directory = TempDir::new().unwrap();
    for arguments in [&["aply"][..], &["validate"], &["apply", "--attribute"], &[]] {
        let said = agent(directory.path(), arguments);
        assert_eq!(said.code, 2, "{arguments:?}: {}", said.stderr);
    }
    assert!(
        agent(directory.path(), &["aply"]).stderr.contains("apply"),
        "no suggestion"
    );
}

/// As under a journal that has gone away.
#[test]
fn what_cannot_be_said_on_standard_error_changes_no_exit_code() {
    let directory = TempDir::new().unwrap();
    let with_note = directory.path().join("note.json");
    let text = r#"{"apiVersion":"dra-guest/v1","kind":"DeviceAttributes","devices":[],"later":1}"#;
    fs::write(&with_note, text).unwrap();
    let with_note = with_note.to_str().unwrap();
    for (arguments, code) in [
        (&["check"][..], 4),
        (&["validate", "/dev/null"], 1),
        (&["apply", "--attributes", with_note], 0),
    ] {
        let status = Command::new(env!("CARGO_BIN_EXE_dra-guest-agent"))
            .args(arguments)
            .arg("--run-root")
            .arg(directory.path().join("run"))
            .stdout(Stdio::null())
            .stderr(fs::File::create("/dev/full").unwrap())
            .status()
            .unwrap();
        assert_eq!(status.code(), Some(code), "{arguments:?}");
    }
}
