//! Values that are looked at when they are read: numbers within bounds, and paths.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::ffi::OsString;
use std::process::ExitCode;

use command_line::{
    Command, CommandOption, Invocation, Parsed, Program, Section, UsageError, ValueKind, parse,
};

static PROGRAM: Program = Program {
    name: "rest",
    version: "1",
    about: "Rests",
    description: &[],
    commands: &[&SLEEP],
    options: &[],
    hidden: &[],
    exit_codes: &[],
    environment: &[],
    files: &[],
};

static SLEEP: Command = Command {
    name: "sleep",
    about: "Sleep",
    description: &[],
    sections: &[&Section {
        heading: "Options",
        options: &[&SECONDS, &TIMES, &BED],
    }],
    operands: None,
    examples: &[],
    run: done,
};

const UP_TO_TEN: ValueKind = ValueKind::Number { least: 1, most: 10 };
static SECONDS: CommandOption =
    CommandOption::valued("seconds", "N", UP_TO_TEN, "How long").or("8");
static TIMES: CommandOption = CommandOption::valued("times", "N", UP_TO_TEN, "How often");
static BED: CommandOption = CommandOption::directory("bed", "Where");

#[expect(clippy::unnecessary_wraps, reason = "the type of all commands")]
fn done(_: &Invocation) -> Result<ExitCode, UsageError> {
    Ok(ExitCode::SUCCESS)
}

fn parsed(arguments: &[&str]) -> Result<Invocation, String> {
    let arguments = ["sleep"].iter().chain(arguments).map(OsString::from);
    match parse(&PROGRAM, arguments) {
        Ok(Parsed::Run(invocation)) => Ok(invocation),
        Ok(Parsed::Print(text)) => panic!("{text}"),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn a_number_is_within_its_bounds() {
    for (text, number) in [("1", 1), ("10", 10), ("+3", 3), ("007", 7)] {
        let given = parsed(&["--seconds", text]).unwrap();
        assert_eq!(given.number(&SECONDS), Some(number), "{text}");
    }
    for text in ["0", "11", "-1", "1.5", "ten", "", " 1", "4294967297"] {
        let option = format!("--seconds={text}");
        assert_eq!(
            parsed(&[&option]).unwrap_err(),
            format!(
                "--seconds {text:?}: a whole number from 1 to 10 is expected; see rest sleep --help"
            )
        );
    }
    let given = parsed(&[]).unwrap();
    assert_eq!(given.number(&SECONDS), Some(8));
    assert_eq!(given.number(&TIMES), None);
}

#[test]
fn a_path_is_not_empty() {
    let given = parsed(&["--bed=b"]).unwrap();
    assert_eq!(given.required::<String>(&BED).unwrap(), "b");
    assert_eq!(
        parsed(&["--bed="]).unwrap_err(),
        "--bed \"\": a path is expected; see rest sleep --help"
    );
}
