//! From arguments to what they ask for.

use std::ffi::OsString;

use lexopt::Arg;

use super::{
    Command, CommandOption, Count, Detail, Invocation, Program, UsageError, Value, ValueKind,
    command_help, program_help,
};

/// What the arguments ask for.
#[derive(Debug)]
pub enum Parsed {
    /// A command.
    Run(Invocation),
    /// A text to print on standard output: help or the version.
    Print(String),
}

/// Reads arguments, without the program's own name.
///
/// # Errors
/// When the definition does not have them so.
pub fn parse(
    program: &'static Program,
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<Parsed, UsageError> {
    let mut parser = lexopt::Parser::from_args(arguments);
    let mut given = Vec::new();
    let mut operands = Vec::new();
    let mut command: Option<&'static Command> = None;
    loop {
        let expected = command.and_then(|command| command.operands.as_ref());
        if expected.is_some_and(|expected| expected.behind_dashes)
            && let Some(rest) = behind_dashes(&mut parser)
        {
            operands = rest;
            break;
        }
        match (next(&mut parser), command) {
            (None, _) => break,
            (Some(Given::Help(detail)), command) => {
                return Ok(Parsed::Print(help(program, command, detail)));
            }
            (Some(Given::Version), None) => {
                let text = format!("{} {}\n", program.name, program.version);
                return Ok(Parsed::Print(text));
            }
            (Some(Given::Version), command) => {
                return Err(UsageError::unknown_option(program, command, "--version"));
            }
            (Some(Given::Option(name)), command) => {
                option(program, command, &name, &mut parser, &mut given)?;
            }
            (Some(Given::Text(name)), None) if name == "help" => {
                return help_of(program, &mut parser);
            }
            (Some(Given::Text(name)), None) => {
                command = Some(named(program, &name.to_string_lossy())?);
            }
            (Some(Given::Text(text)), Some(command)) => match expected {
                Some(expected) if !expected.behind_dashes => operands.push(text),
                _ => {
                    let text = text.to_string_lossy();
                    return Err(UsageError::unexpected(program, command, &text));
                }
            },
        }
    }
    let Some(command) = command else {
        return Err(UsageError::no_command(program));
    };
    let missing = command
        .options()
        .find(|option| option.is_required() && !given.iter().any(|(o, _)| o.name == option.name));
    if let Some(option) = missing {
        return Err(UsageError::missing(program, command, option));
    }
    if let Some(expected) = &command.operands
        && operands.is_empty()
    {
        return Err(UsageError::no_operand(program, command, expected));
    }
    Ok(Parsed::Run(Invocation {
        program,
        command,
        given,
        operands,
    }))
}

/// `help` and `help COMMAND`.
fn help_of(program: &'static Program, parser: &mut lexopt::Parser) -> Result<Parsed, UsageError> {
    let command = match next(parser) {
        Some(Given::Text(name)) => Some(named(program, &name.to_string_lossy())?),
        Some(Given::Option(name)) => {
            return Err(UsageError::unknown_option(program, None, &name));
        }
        None | Some(Given::Help(_) | Given::Version) => None,
    };
    Ok(Parsed::Print(help(program, command, Detail::Full)))
}

fn help(program: &Program, command: Option<&Command>, detail: Detail) -> String {
    match command {
        Some(command) => command_help(program, command, detail),
        None => program_help(program, detail),
    }
}

fn named(program: &'static Program, name: &str) -> Result<&'static Command, UsageError> {
    let command = program.command(name);
    command.ok_or_else(|| UsageError::unknown_command(program, name))
}

/// All behind `--`, where that is next.
fn behind_dashes(parser: &mut lexopt::Parser) -> Option<Vec<OsString>> {
    let mut rest = parser.try_raw_args()?;
    rest.next_if(|argument| argument == "--")?;
    Some(rest.collect())
}

/// Takes the option of this name, and its values.
fn option(
    program: &'static Program,
    command: Option<&'static Command>,
    name: &str,
    parser: &mut lexopt::Parser,
    given: &mut Vec<(&'static CommandOption, String)>,
) -> Result<(), UsageError> {
    let known = |name: &str| {
        let of_command = command.and_then(|command| command.option(name));
        of_command.or_else(|| program.option(name))
    };
    let option = name
        .strip_prefix("--")
        .and_then(known)
        .ok_or_else(|| UsageError::unknown_option(program, command, name))?;
    let once = option
        .value
        .as_ref()
        .is_none_or(|value| matches!(value.count, Count::Once | Count::Required));
    if once && given.iter().any(|(other, _)| other.name == option.name) {
        return Err(UsageError::twice(program, command, option));
    }
    let Some(value) = &option.value else {
        if parser.optional_value().is_some() {
            return Err(UsageError::no_switch_value(program, command, option));
        }
        given.push((option, String::new()));
        return Ok(());
    };
    let most = if value.count == Count::List {
        usize::MAX
    } else {
        1
    };
    // What starts with a dash is no value, unless it stands behind "=".
    let values = parser
        .values()
        .map_err(|_| UsageError::no_value(program, command, option))?;
    for text in values.take(most) {
        let text = text_of(value, text)
            .map_err(|(text, why)| UsageError::invalid(program, command, option, &text, &why))?;
        given.push((option, text));
    }
    Ok(())
}

/// A value as text, or as much of it as there is with what is wrong with it.
fn text_of(value: &Value, text: OsString) -> Result<String, (String, String)> {
    let text = text.into_string().map_err(|text| {
        let shown = text.to_string_lossy().into_owned();
        (shown, "this is not UTF-8".to_owned())
    })?;
    match value.kind {
        ValueKind::OneOf(choices) if !choices.contains(&text.as_str()) => {
            let expected = format!("expected is {}", choices.join(" or "));
            Err((text, expected))
        }
        ValueKind::Number { least, most } if !is_within(&text, least, most) => {
            let expected = format!("a whole number from {least} to {most} is expected");
            Err((text, expected))
        }
        ValueKind::File | ValueKind::Directory if text.is_empty() => {
            Err((text, "a path is expected".to_owned()))
        }
        _ => Ok(text),
    }
}

fn is_within(text: &str, least: u32, most: u32) -> bool {
    text.parse()
        .is_ok_and(|number: u32| (least..=most).contains(&number))
}

/// One argument.
enum Given {
    Help(Detail),
    Version,
    /// With its dashes.
    Option(String),
    Text(OsString),
}

fn next(parser: &mut lexopt::Parser) -> Option<Given> {
    Some(match parser.next() {
        Ok(None) => return None,
        Ok(Some(Arg::Short('h'))) => Given::Help(Detail::Short),
        Ok(Some(Arg::Long("help"))) => Given::Help(Detail::Full),
        Ok(Some(Arg::Short('V') | Arg::Long("version"))) => Given::Version,
        Ok(Some(Arg::Short(letter))) => Given::Option(format!("-{letter}")),
        Ok(Some(Arg::Long(name))) => Given::Option(format!("--{name}")),
        Ok(Some(Arg::Value(text))) => Given::Text(text),
        // A value behind "=" that the option before it did not take: each option takes its own.
        Err(error) => Given::Text(error.to_string().into()),
    })
}
