//! From arguments to what they ask for.

use std::ffi::OsString;

use lexopt::Arg;

use super::{
    Command, CommandOption, Count, Detail, Invocation, Program, UsageError, ValueKind,
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
    match next(&mut parser) {
        None => Err(UsageError::no_command(program)),
        Some(Given::Help(detail)) => Ok(Parsed::Print(program_help(program, detail))),
        Some(Given::Version) => Ok(Parsed::Print(format!(
            "{} {}\n",
            program.name, program.version
        ))),
        Some(Given::Option(name)) => Err(UsageError::unknown_option(program, None, &name)),
        Some(Given::Text(name)) if name == "help" => help_of(program, &mut parser),
        Some(Given::Text(name)) => match program.command(&name) {
            Some(command) => parse_options(program, command, &mut parser),
            None => Err(UsageError::unknown_command(program, &name)),
        },
    }
}

/// `help` and `help COMMAND`.
fn help_of(program: &'static Program, parser: &mut lexopt::Parser) -> Result<Parsed, UsageError> {
    match next(parser) {
        Some(Given::Text(name)) => match program.command(&name) {
            Some(command) => Ok(Parsed::Print(command_help(program, command, Detail::Full))),
            None => Err(UsageError::unknown_command(program, &name)),
        },
        Some(Given::Option(name)) => Err(UsageError::unknown_option(program, None, &name)),
        None | Some(Given::Help(_) | Given::Version) => {
            Ok(Parsed::Print(program_help(program, Detail::Full)))
        }
    }
}

fn parse_options(
    program: &'static Program,
    command: &'static Command,
    parser: &mut lexopt::Parser,
) -> Result<Parsed, UsageError> {
    let mut given: Vec<(&'static CommandOption, String)> = Vec::new();
    while let Some(argument) = next(parser) {
        let name = match argument {
            Given::Help(detail) => {
                return Ok(Parsed::Print(command_help(program, command, detail)));
            }
            Given::Text(text) => return Err(UsageError::unexpected(program, command, &text)),
            Given::Version => "--version".to_owned(),
            Given::Option(name) => name,
        };
        let option = name
            .strip_prefix("--")
            .and_then(|name| command.option(name))
            .ok_or_else(|| UsageError::unknown_option(program, Some(command), &name))?;
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
            continue;
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
            let invalid = |text: &str, reason: &str| {
                UsageError::invalid(program, command, option, text, reason)
            };
            let text = text
                .into_string()
                .map_err(|text| invalid(&text.to_string_lossy(), "this is not UTF-8"))?;
            if let ValueKind::OneOf(choices) = value.kind
                && !choices.contains(&text.as_str())
            {
                let expected = format!("expected is {}", choices.join(" or "));
                return Err(invalid(&text, &expected));
            }
            given.push((option, text));
        }
    }
    let missing = command
        .options()
        .find(|option| option.is_required() && !given.iter().any(|(o, _)| o.name == option.name));
    match missing {
        Some(option) => Err(UsageError::missing(program, command, option)),
        None => Ok(Parsed::Run(Invocation {
            program,
            command,
            given,
        })),
    }
}

/// One argument.
enum Given {
    Help(Detail),
    Version,
    /// With its dashes.
    Option(String),
    Text(String),
}

fn next(parser: &mut lexopt::Parser) -> Option<Given> {
    Some(match parser.next() {
        Ok(None) => return None,
        Ok(Some(Arg::Short('h'))) => Given::Help(Detail::Short),
        Ok(Some(Arg::Long("help"))) => Given::Help(Detail::Full),
        Ok(Some(Arg::Short('V') | Arg::Long("version"))) => Given::Version,
        Ok(Some(Arg::Short(letter))) => Given::Option(format!("-{letter}")),
        Ok(Some(Arg::Long(name))) => Given::Option(format!("--{name}")),
        Ok(Some(Arg::Value(text))) => Given::Text(text.to_string_lossy().into_owned()),
        // A value behind "=" that the option before it did not take: each option takes its own.
        Err(error) => Given::Text(error.to_string()),
    })
}
