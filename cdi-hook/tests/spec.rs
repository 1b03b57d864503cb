//! The CDI spec that the hook prints, against golden files.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use std::process::Command;

fn spec(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_dra-cdi-hook"))
        .arg("spec")
        .args(arguments)
        .output()
        .unwrap();
    (
        output.status.code(),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

#[test]
fn the_plain_spec() {
    let golden = include_str!("spec/plain.json");
    assert_eq!(spec(&[]), (Some(0), golden.to_owned(), String::new()));
}

#[test]
fn options_of_the_hook_go_into_the_spec() {
    let golden = include_str!("spec/options.json");
    let given = [
        "--hook-path",
        "/opt/dra-guest/bin/dra-cdi-hook",
        "--vm-mount",
        "/var/run/vm",
        "--metadata-dir",
        "/var/lib/metadata",
        "--attributes",
        "/etc/dra-guest/extra.json",
        "--export",
        "resource.kubernetes.io/pciBusID",
        "resource.kubernetes.io/numaNode",
        "--on-error",
        "skip",
        "--log",
        "/var/log/dra-cdi-hook.log",
    ];
    assert_eq!(spec(&given), (Some(0), golden.to_owned(), String::new()));
}

#[test]
fn the_other_forms_ask_for_the_same_hook() {
    let form = |form: &str| spec(&["--form", form]).1;
    assert_eq!(form("cdi"), include_str!("spec/plain.json"));
    assert_eq!(form("hooks.d"), include_str!("spec/hooks.d.json"));
    assert_eq!(form("oci"), include_str!("spec/oci.json"));
}

#[test]
fn wrong_usage_is_exit_code_2() {
    for arguments in [
        ["--hook-path", "dra-cdi-hook"],
        ["--vm-mount", "run/vm"],
        ["--on-error", "ignore"],
        ["--no-such-option", "x"],
        ["--export", ""],
        ["--export", "a b"],
        ["--export", "a\n"],
    ] {
        let (code, stdout, stderr) = spec(&arguments);
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(stderr.contains(arguments[0]), "{stderr}");
    }
}

#[test]
fn whatever_is_given_reaches_the_hook_as_it_was_given() {
    let given = [
        "--export=--log",
        "--metadata-dir=/a \"b\" é=\\",
        "--vm-mount=/",
    ];
    let (code, stdout, _) = spec(&given);
    assert_eq!(code, Some(0));
    let spec: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let hook = &spec["devices"][0]["containerEdits"]["hooks"][0];
    let arguments: Vec<&str> = hook["args"]
        .as_array()
        .unwrap()
        .iter()
        .map(|argument| argument.as_str().unwrap())
        .collect();
    assert_eq!(
        arguments,
        [
            "dra-cdi-hook",
            "create-container",
            given[2],
            given[1],
            given[0]
        ]
    );
    // The hook takes them: what it complains of is the state.
    let output = Command::new(env!("CARGO_BIN_EXE_dra-cdi-hook"))
        .args(&arguments[1..])
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("standard input is empty")
    );
}

#[test]
fn a_spec_that_cannot_be_written_is_exit_code_1() {
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_dra-cdi-hook"))
        .arg("spec")
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "dra-cdi-hook: error: the spec cannot be written to standard output: No space left on \
         device (os error 28)\n"
    );
}
