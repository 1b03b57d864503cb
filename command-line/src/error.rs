//! What is wrong with a command line: one sentence, with what was meant.

use device_attributes::one_line;

use super::{Command, CommandOption, Count, Operands, Program, ValueKind};

/// What is wrong with a command line.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {}ee {help}", match meant {
    Some(meant) => format!("did you mean {meant}? S"),
    None => "s".to_owned(),
})]
pub struct UsageError {
    what: String,
    meant: Option<String>,
    help: String,
}

/// The most bytes of an argument that a message repeats.
const EXCERPT_BYTES: usize = 128;

impl UsageError {
    fn new(program: &Program, command: Option<&Command>, what: String) -> Self {
        let command = command.map(|command| format!("{} ", command.name));
        let command = command.unwrap_or_default();
        Self {
            what,
            meant: None,
            help: format!("{} {command}--help", program.name),
        }
    }

    fn meaning(mut self, meant: Option<String>) -> Self {
        self.meant = meant;
        self
    }

    pub(super) fn no_command(program: &Program) -> Self {
        let what = format!("a command is missing: {}", commands(program).join(", "));
        Self::new(program, None, what)
    }

    pub(super) fn unknown_command(program: &Program, name: &str) -> Self {
        let what = format!("there is no command {:?}", excerpt(name));
        let meant = nearest(name, &commands(program));
        Self::new(program, None, what).meaning(meant.map(str::to_owned))
    }

    pub(super) fn unknown_option(
        program: &Program,
        command: Option<&Command>,
        given: &str,
    ) -> Self {
        let subject = command.map_or(program.name, |command| command.name);
        let what = format!("{subject} has no option {}", excerpt(given));
        Self::new(program, command, what).meaning_option(program, command, given)
    }

    pub(super) fn unexpected(program: &Program, command: &Command, given: &str) -> Self {
        let operands = command.operands.as_ref();
        let taken = operands.map_or("options only", |operands| operands.usage);
        let what = format!(
            "{} takes {taken}, and no {:?}",
            command.name,
            excerpt(given)
        );
        let command = Some(command);
        Self::new(program, command, what).meaning_option(program, command, given)
    }

    /// Proposes an option.
    fn meaning_option(self, program: &Program, command: Option<&Command>, given: &str) -> Self {
        let mut known = vec!["help"];
        for option in program.options {
            known.push(option.name);
        }
        for section in command.map_or(&[][..], |command| command.sections) {
            for option in section.options {
                known.push(option.name);
            }
        }
        let meant = nearest(given.trim_start_matches('-'), &known);
        self.meaning(meant.map(|meant| format!("--{meant}")))
    }

    pub(super) fn no_value(
        program: &Program,
        command: Option<&Command>,
        option: &CommandOption,
    ) -> Self {
        let what = format!("{} needs a value", usage_of(option));
        Self::new(program, command, what)
    }

    pub(super) fn no_switch_value(
        program: &Program,
        command: Option<&Command>,
        option: &CommandOption,
    ) -> Self {
        let what = format!("--{} takes no value", option.name);
        Self::new(program, command, what)
    }

    pub(super) fn twice(
        program: &Program,
        command: Option<&Command>,
        option: &CommandOption,
    ) -> Self {
        let what = format!("--{} is given more than once", option.name);
        Self::new(program, command, what)
    }

    pub(super) fn missing(program: &Program, command: &Command, option: &CommandOption) -> Self {
        let what = format!("{} needs {}", command.name, usage_of(option));
        Self::new(program, Some(command), what)
    }

    pub(super) fn no_operand(program: &Program, command: &Command, operands: &Operands) -> Self {
        let what = format!("{} needs {}", command.name, operands.usage);
        Self::new(program, Some(command), what)
    }

    /// A value that its type, or the set of values, does not have.
    pub(super) fn invalid(
        program: &Program,
        command: Option<&Command>,
        option: &CommandOption,
        value: &str,
        reason: &str,
    ) -> Self {
        let what = format!("--{} {:?}: {reason}", option.name, excerpt(value));
        let meant = match option.value.as_ref().map(|value| value.kind) {
            Some(ValueKind::OneOf(choices)) => nearest(value, choices),
            _ => None,
        };
        Self::new(program, command, what).meaning(meant.map(str::to_owned))
    }
}

/// An option with its value, as usage shows it: `--log <FILE>`.
pub(super) fn usage_of(option: &CommandOption) -> String {
    match &option.value {
        None => format!("--{}", option.name),
        Some(value) => {
            let more = if value.count == Count::List {
                "..."
            } else {
                ""
            };
            format!("--{} <{}>{more}", option.name, value.name)
        }
    }
}

fn commands(program: &Program) -> Vec<&'static str> {
    let mut names = Vec::new();
    for command in program.commands {
        names.push(command.name);
    }
    names
}

fn excerpt(given: &str) -> String {
    one_line(given, EXCERPT_BYTES)
}

/// The one of `known` that a slip of the hand away from `given`, or that starts like it.
fn nearest<'a>(given: &str, known: &[&'a str]) -> Option<&'a str> {
    // The distance takes the product of both lengths.
    if given.len() > EXCERPT_BYTES || given.is_empty() {
        return None;
    }
    let distance = |name: &str| {
        if name.starts_with(given) {
            1
        } else {
            strsim::osa_distance(given, name)
        }
    };
    known
        .iter()
        .map(|name| (distance(name), *name))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, name)| *distance <= name.len().div_ceil(3))
        .map(|(_, name)| name)
}
