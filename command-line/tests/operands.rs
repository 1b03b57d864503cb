//! What a command takes beside its own options: those of every command, files, another command.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use command_line::{
    Command, CommandOption, Count, Detail, ExitMeaning, Invocation, Operands, Parsed, Program,
    Section, UsageError, ValueKind, command_help, parse, program_help,
};

static PROGRAM: Program = Program {
    name: "near",
    version: "1",
    about: "Runs what is near",
    description: &["More of it."],
    commands: &[&EXEC, &VALIDATE],
    options: &[&LEVEL],
    hidden: &[&ROOT],
    exit_codes: &[ExitMeaning {
        code: 0,
        meaning: "done",
    }],
    environment: &[],
    files: &[("/etc/near.toml", "what is near")],
};

static EXEC: Command = Command {
    name: "exec",
    about: "Run a command",
    description: &[],
    sections: &[&Section {
        heading: "Options",
        options: &[&DEVICE],
    }],
    operands: Some(Operands {
        usage: "-- <CMD>...",
        about: "The command and its arguments",
        behind_dashes: true,
    }),
    examples: &[],
    run: done,
};

static VALIDATE: Command = Command {
    name: "validate",
    about: "Check files",
    description: &[],
    sections: &[],
    operands: Some(Operands {
        usage: "<FILE>...",
        about: "The files",
        behind_dashes: false,
    }),
    examples: &[],
    run: done,
};

static DEVICE: CommandOption = option("device", Count::Required, None);
static LEVEL: CommandOption = option("level", Count::Once, Some("info"));
static ROOT: CommandOption = option("root", Count::Once, Some("/"));

const fn option(name: &'static str, count: Count, default: Option<&'static str>) -> CommandOption {
    let option = CommandOption::valued(name, "X", ValueKind::Text, "One of them").given(count);
    match default {
        Some(default) => option.or(default),
        None => option,
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the type of all commands")]
fn done(_: &Invocation) -> Result<ExitCode, UsageError> {
    Ok(ExitCode::SUCCESS)
}

fn invocation(arguments: &[&str]) -> Invocation {
    match parse(&PROGRAM, arguments.iter().map(OsString::from)) {
        Ok(Parsed::Run(invocation)) => invocation,
        other => panic!("{arguments:?}: {other:?}"),
    }
}

fn refused(arguments: &[&str]) -> String {
    match parse(&PROGRAM, arguments.iter().map(OsString::from)) {
        Err(error) => error.to_string(),
        Ok(other) => panic!("{arguments:?}: {other:?}"),
    }
}

#[test]
fn an_option_of_every_command_stands_before_its_name_or_behind_it() {
    for arguments in [
        &["--level", "warn", "--root=/x", "validate", "a"][..],
        &["validate", "--root=/x", "a", "--level=warn"],
        &["--root", "/x", "validate", "--level", "warn", "a"],
    ] {
        let given = invocation(arguments);
        let level: Option<String> = given.value(&LEVEL).unwrap();
        assert_eq!(level.as_deref(), Some("warn"), "{arguments:?}");
        assert_eq!(given.required::<String>(&ROOT).unwrap(), "/x");
        assert_eq!(given.operands(), ["a"]);
    }
    let given = invocation(&["validate", "a"]);
    assert_eq!(given.required::<String>(&LEVEL).unwrap(), "info");
    assert_eq!(
        refused(&["--level=a", "validate", "--level=b", "x"]),
        "--level is given more than once; see near validate --help"
    );
    assert_eq!(
        refused(&["--leve=a", "validate"]),
        "near has no option --leve; did you mean --level? See near --help"
    );
    assert_eq!(
        refused(&["--level"]),
        "--level <X> needs a value; see near --help"
    );
    assert_eq!(
        refused(&["--device=x", "exec", "--", "true"]),
        "near has no option --device; see near --help"
    );
}

#[test]
fn a_command_behind_two_dashes_is_as_it_was_given() {
    let given = invocation(&[
        "exec",
        "--device",
        "nic",
        "--",
        "ls",
        "--level=9",
        "-h",
        "--",
        "-x",
    ]);
    assert_eq!(given.operands(), ["ls", "--level=9", "-h", "--", "-x"]);
    assert_eq!(given.required::<String>(&DEVICE).unwrap(), "nic");
    assert_eq!(given.required::<String>(&LEVEL).unwrap(), "info");
    // The value of an option, though it is two dashes.
    assert_eq!(
        refused(&["exec", "--device", "--", "ls"]),
        "--device <X> needs a value; see near exec --help"
    );
    for (arguments, message) in [
        (
            &["exec", "--device=x"][..],
            "exec needs -- <CMD>...; see near exec --help",
        ),
        (
            &["exec", "--device=x", "--"],
            "exec needs -- <CMD>...; see near exec --help",
        ),
        (
            &["exec", "--", "ls"],
            "exec needs --device <X>; see near exec --help",
        ),
        (
            &["exec", "--device=x", "ls"],
            "exec takes -- <CMD>..., and no \"ls\"; see near exec --help",
        ),
    ] {
        assert_eq!(refused(arguments), message);
    }
}

#[test]
fn files_are_any_bytes_and_one_at_least() {
    let bytes = OsStr::from_bytes(b"\xff.toml");
    let arguments = [
        "validate".into(),
        bytes.to_owned(),
        "--".into(),
        "-a".into(),
    ];
    let Ok(Parsed::Run(given)) = parse(&PROGRAM, arguments) else {
        panic!("files");
    };
    assert_eq!(given.operands(), [bytes, OsStr::new("-a")]);
    assert_eq!(
        refused(&["validate"]),
        "validate needs <FILE>...; see near validate --help"
    );
}

#[test]
fn help_shows_operands_and_files_and_not_what_is_hidden() {
    let all = program_help(&PROGRAM, Detail::Full);
    for shown in ["--level <X>", "/etc/near.toml", "\nMore of it.\n"] {
        assert!(all.contains(shown), "{all}");
    }
    assert!(
        !all.contains("Environment") && !all.contains("--root"),
        "{all}"
    );
    let exec = command_help(&PROGRAM, &EXEC, Detail::Short);
    assert!(
        exec.starts_with("Run a command\n\nUsage: near exec --device <X> [OPTIONS] -- <CMD>...\n"),
        "{exec}"
    );
    assert!(exec.contains("Arguments:\n  -- <CMD>...\n"), "{exec}");
    assert!(
        exec.contains("Options of every command:\n  --level <X>\n"),
        "{exec}"
    );
    assert!(!exec.contains("--root"), "{exec}");
}
