//! The command line as its users meet it: help, version, and what is said of a slip.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use dra_cdi_hook::command_line::{Count, PROGRAM, ValueKind};

fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_dra-cdi-hook"))
        .args(arguments)
        .output()
        .unwrap();
    (
        output.status.code(),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

fn printed(arguments: &[&str]) -> String {
    let (code, stdout, stderr) = run(arguments);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{arguments:?}");
    stdout
}

#[test]
fn a_slip_is_named_with_what_was_meant() {
    for (arguments, message) in [
        (
            vec!["spek"],
            "there is no command \"spek\"; did you mean spec? See dra-cdi-hook --help",
        ),
        (
            vec!["create"],
            "there is no command \"create\"; did you mean create-container? See dra-cdi-hook --help",
        ),
        (
            vec!["help", "spek"],
            "there is no command \"spek\"; did you mean spec? See dra-cdi-hook --help",
        ),
        (
            vec!["frobnicate"],
            "there is no command \"frobnicate\"; see dra-cdi-hook --help",
        ),
        (
            vec!["spec", "--vm-mont=/x"],
            "spec has no option --vm-mont; did you mean --vm-mount? See dra-cdi-hook spec --help",
        ),
        (
            vec!["spec", "-l", "/x"],
            "spec has no option -l; did you mean --log? See dra-cdi-hook spec --help",
        ),
        (
            vec!["spec", "log"],
            "spec takes options only, and no \"log\"; did you mean --log? See dra-cdi-hook spec --help",
        ),
        (
            vec!["spec", "--on-error", "ski"],
            "--on-error \"ski\": expected is fail or skip; did you mean skip? See dra-cdi-hook spec --help",
        ),
        (
            vec!["spec", "--on-error"],
            "--on-error <POLICY> needs a value; see dra-cdi-hook spec --help",
        ),
        // The next option is not taken for a value.
        (
            vec!["spec", "--log", "--on-error=skip"],
            "--log <FILE> needs a value; see dra-cdi-hook spec --help",
        ),
        (
            vec!["spec", "--export"],
            "--export <KEY>... needs a value; see dra-cdi-hook spec --help",
        ),
        (
            vec!["spec", "--log=/a", "--log=/a"],
            "--log is given more than once; see dra-cdi-hook spec --help",
        ),
        (
            vec!["spec", "--log", "/a", "/b"],
            "spec takes options only, and no \"/b\"; see dra-cdi-hook spec --help",
        ),
        (
            vec!["--log=/a", "spec"],
            "dra-cdi-hook has no option --log; see dra-cdi-hook --help",
        ),
    ] {
        let (code, stdout, stderr) = run(&arguments);
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert_eq!(stderr, format!("dra-cdi-hook: error: {message}\n"));
    }
}

#[test]
fn without_a_command_all_are_named() {
    let (code, stdout, stderr) = run(&[]);
    assert_eq!((code, stdout.as_str()), (Some(2), ""));
    for command in PROGRAM.commands {
        assert!(stderr.contains(command.name), "{stderr}");
    }
}

#[test]
fn whatever_the_arguments_are_the_answer_is_short_and_one_line() {
    let long = "x".repeat(100_000);
    for arguments in [
        vec![long.as_bytes()],
        vec![b"spec", long.as_bytes()],
        vec![b"spec", b"--log=\xff"],
        vec![b"spec", b"--\xff=\xff"],
        vec![b"\xff"],
        vec![b"spec", b"--export=\x1b[31m"],
        vec![b"spec", b"-\xff"],
        vec![b"spec", b"--", b"--log=/x"],
        vec![b"spec", b"-"],
        vec![b""],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_dra-cdi-hook"))
            .args(
                arguments
                    .iter()
                    .map(|bytes| std::ffi::OsStr::from_bytes(bytes)),
            )
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        assert!(stderr.len() < 1024, "{}", stderr.len());
        assert!(!stderr.trim_end().contains(char::is_control), "{stderr:?}");
    }
}

#[test]
fn help_is_as_it_is_written_down() {
    assert_eq!(
        printed(&["help", "spec"]),
        include_str!("command_line/spec.txt")
    );
    assert_eq!(
        printed(&["spec", "--help"]),
        include_str!("command_line/spec.txt")
    );
    assert_eq!(
        printed(&["spec", "-h"]),
        include_str!("command_line/spec-short.txt")
    );
    let all = printed(&["--help"]);
    assert_eq!(printed(&["help"]), all);
    for command in PROGRAM.commands {
        assert!(all.contains(&format!("\n  {} ", command.name)), "{all}");
        let help = printed(&[command.name, "--help"]);
        for option in command.options() {
            assert!(help.contains(&format!("  --{}", option.name)), "{help}");
        }
        for line in help.lines().chain(all.lines()) {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}

#[test]
fn the_version_is_cargos() {
    let version = format!("dra-cdi-hook {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(printed(&["--version"]), version);
    assert_eq!(printed(&["-V"]), version);
}

/// What the types of the definition do not rule out.
#[test]
fn the_definition_is_sound() {
    let mut commands = BTreeSet::from(["help"]);
    for command in PROGRAM.commands {
        assert!(commands.insert(command.name), "{}", command.name);
        let mut names = BTreeSet::from(["help", "version"]);
        for option in command.options() {
            assert!(
                names.insert(option.name),
                "{} --{}",
                command.name,
                option.name
            );
            assert!(!option.about.ends_with('.'), "{}", option.about);
            let Some(value) = &option.value else { continue };
            if let (ValueKind::OneOf(choices), Some(default)) = (value.kind, value.default) {
                assert!(choices.contains(&default), "--{}", option.name);
            }
            assert!(
                value.default.is_none() || value.count == Count::Once,
                "--{}: a default of what may be given often",
                option.name
            );
        }
    }
}
