//! The hook's command line, which is data of its own, as the type that pages and completions are made from.

use std::fmt::Write as _;

use clap::builder::{PossibleValuesParser, ValueHint};
use clap::{Arg, ArgAction, Command};
use dra_cdi_hook::command_line::{self, CommandOption, Count, PROGRAM, Section, Value, ValueKind};

/// The whole command line.
pub(crate) fn command() -> Command {
    let mut end = String::from("Exit codes: ");
    let codes = PROGRAM.exit_codes.iter();
    let codes: Vec<String> = codes
        .map(|it| format!("{} {}", it.code, it.meaning))
        .collect();
    end.push_str(&codes.join(", "));
    for (variable, meaning) in PROGRAM.environment {
        // Writing to a String cannot fail.
        let _ = write!(end, "\n{variable}: {meaning}");
    }
    Command::new(PROGRAM.name)
        .version(PROGRAM.version)
        .about(PROGRAM.about)
        .subcommand_required(true)
        .subcommands(PROGRAM.commands.iter().map(|it| subcommand(it)))
        .after_help(end)
}

fn subcommand(command: &command_line::Command) -> Command {
    let mut end = String::new();
    for (line, meaning) in command.examples {
        let _ = writeln!(end, "{meaning}:\n  {line}");
    }
    let options = command.sections.iter().flat_map(|it| arguments(it));
    let page = Command::new(command.name)
        .about(command.about)
        .args(options);
    let page = match command.description {
        [] => page,
        paragraphs => page.long_about(format!("{}\n\n{}", command.about, paragraphs.join("\n\n"))),
    };
    if end.is_empty() {
        page
    } else {
        page.after_help(format!("Examples:\n{}", end.trim_end()))
    }
}

fn arguments(section: &Section) -> impl Iterator<Item = Arg> {
    let heading = section.heading;
    section
        .options
        .iter()
        .map(move |it| argument(it).help_heading(heading))
}

fn argument(option: &CommandOption) -> Arg {
    let mut argument = Arg::new(option.name).long(option.name).help(option.about);
    if !option.description.is_empty() {
        argument = argument.long_help(format!("{}\n\n{}", option.about, option.description));
    }
    match &option.value {
        None => argument.action(ArgAction::SetTrue),
        Some(value) => with_value(argument, value),
    }
}

fn with_value(argument: Arg, value: &Value) -> Arg {
    let argument = argument.value_name(value.name);
    let argument = match value.count {
        Count::Once => argument,
        Count::Required => argument.required(true),
        Count::Repeated => argument.action(ArgAction::Append),
        Count::List => argument.action(ArgAction::Append).num_args(1..),
    };
    let argument = match value.kind {
        ValueKind::File => argument.value_hint(ValueHint::FilePath),
        ValueKind::Directory => argument.value_hint(ValueHint::DirPath),
        ValueKind::Text => argument,
        ValueKind::OneOf(values) => {
            argument.value_parser(PossibleValuesParser::new(values.iter().copied()))
        }
    };
    match value.default {
        Some(default) => argument.default_value(default),
        None => argument,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn every_option_of_the_hook_is_in_it() {
        let whole = command();
        for defined in PROGRAM.commands {
            let made = whole.find_subcommand(defined.name).unwrap();
            for option in defined.options() {
                let argument = made
                    .get_arguments()
                    .find(|it| it.get_long() == Some(option.name));
                let takes = argument.unwrap().get_action().takes_values();
                assert_eq!(takes, option.value.is_some(), "{}", option.name);
            }
        }
    }
}
