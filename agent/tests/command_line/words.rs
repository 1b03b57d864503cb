//! The command line as its users meet it: help, version, and what is said of a slip.

use std::os::unix::ffi::OsStrExt as _;
use std::process::Command;

use dra_guest_agent::command_line::PROGRAM;

fn run(arguments: &[&[u8]]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_dra-guest-agent"))
        .args(arguments.iter().map(|it| std::ffi::OsStr::from_bytes(it)))
        .output()
        .unwrap();
    (
        output.status.code(),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

#[test]
fn help_names_every_command_and_option() {
    let (code, all, _) = run(&[b"--help"]);
    assert_eq!(code, Some(0));
    for said in [
        "Exit codes:",
        "4  no attributes yet",
        "/etc/dra-guest/agent.toml",
    ] {
        assert!(all.contains(said), "{all}");
    }
    assert!(!all.contains("--run-root"), "{all}");
    for command in PROGRAM.commands {
        assert!(all.contains(&format!("\n  {} ", command.name)), "{all}");
        let (code, help, _) = run(&[command.name.as_bytes(), b"--help"]);
        assert_eq!(code, Some(0));
        let (_, by_help, _) = run(&[b"help", command.name.as_bytes()]);
        assert_eq!(help, by_help);
        for option in command.options() {
            assert!(help.contains(&format!("  --{}", option.name)), "{help}");
        }
    }
    let (code, version, _) = run(&[b"--version"]);
    assert_eq!(code, Some(0));
    assert_eq!(
        version,
        format!("dra-guest-agent {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn a_slip_is_one_line_that_says_what_was_meant() {
    for (arguments, words) in [
        (&[b"aply".as_slice()][..], "did you mean apply?"),
        (&[b"apply", b"--atributes=/x"], "did you mean --attributes?"),
        (
            &[b"apply", b"--wait", b"long"],
            "--wait \"long\": a whole number from 0 to 86400 is expected",
        ),
        (&[b"apply", b"--wait=-1"], "--wait \"-1\": a whole number"),
        (&[b"apply", b"--attributes="], "a path is expected"),
        (&[b"plan", b"--log-level=inf"], "did you mean info?"),
        (&[b"status", b"extra"], "status takes options only"),
        (&[b"validate"], "validate needs <FILE>..."),
        (&[b"apply", b"--attributes=\xff"], "this is not UTF-8"),
        (&[], "a command is missing: run, apply"),
        (&[b"\xff\x1b[31m"], "there is no command"),
    ] {
        let (code, stdout, stderr) = run(arguments);
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(stderr.contains(words), "{arguments:?}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        assert!(!stderr.trim_end().contains(char::is_control), "{stderr:?}");
    }
}
