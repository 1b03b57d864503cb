//! A command line that is data of its program, as the type that pages and completions are made from.

use std::fmt::Write as _;

use clap::builder::{PossibleValuesParser, ValueHint};
use clap::{Arg, ArgAction, Command};
use command_line::{CommandOption, Count, Operands, Program, Section, Value, ValueKind};

/// The whole command line.
pub(crate) fn of(program: &Program) -> Command {
    let mut end = String::from("Exit codes: ");
    let codes = program.exit_codes.iter();
    let codes: Vec<String> = codes
        .map(|it| format!("{} {}", it.code, it.meaning))
        .collect();
    end.push_str(&codes.join(", "));
    for (name, meaning) in program.environment.iter().chain(program.files) {
        // Writing to a String cannot fail.
        let _ = write!(end, "\n{name}: {meaning}");
    }
    let command = Command::new(program.name)
        .version(program.version)
        .about(program.about)
        .subcommand_required(true)
        .subcommands(program.commands.iter().map(|it| subcommand(it)))
        .args(program.options.iter().map(|it| argument(it).global(true)))
        .after_help(end);
    described(command, program.about, program.description)
}

fn described(command: Command, about: &str, paragraphs: &[&str]) -> Command {
    match paragraphs {
        [] => command,
        paragraphs => command.long_about(format!("{about}\n\n{}", paragraphs.join("\n\n"))),
    }
}

fn subcommand(command: &command_line::Command) -> Command {
    let mut end = String::new();
    for (line, meaning) in command.examples {
        let _ = writeln!(end, "{meaning}:\n  {line}");
    }
    let options = command.sections.iter().flat_map(|it| arguments(it));
    let page = Command::new(command.name)
        .about(command.about)
        .args(options)
        .args(command.operands.as_ref().map(operands));
    let page = described(page, command.about, command.description);
    if end.is_empty() {
        page
    } else {
        page.after_help(format!("Examples:\n{}", end.trim_end()))
    }
}

fn operands(operands: &Operands) -> Arg {
    let name = operands.usage.trim_start_matches("-- ");
    let name = name.trim_matches(|c| "<>.".contains(c));
    let argument = Arg::new(name)
        .help(operands.about)
        .num_args(1..)
        .required(true);
    if operands.behind_dashes {
        let hint = ValueHint::CommandWithArguments;
        argument.last(true).value_hint(hint)
    } else {
        argument.value_hint(ValueHint::FilePath)
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
        ValueKind::Text | ValueKind::Number { .. } => argument,
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

    const BOTH: [&Program; 2] = [
        &dra_cdi_hook::command_line::PROGRAM,
        &dra_guest_agent::command_line::PROGRAM,
    ];

    #[test]
    fn the_command_lines_are_sound() {
        for program in BOTH {
            of(program).debug_assert();
        }
    }

    #[test]
    fn every_option_is_in_it() {
        for program in BOTH {
            let whole = of(program);
            for defined in program.commands {
                let made = whole.find_subcommand(defined.name).unwrap();
                for option in defined.options() {
                    let argument = made
                        .get_arguments()
                        .find(|it| it.get_long() == Some(option.name));
                    let takes = argument.unwrap().get_action().takes_values();
                    assert_eq!(takes, option.value.is_some(), "{}", option.name);
                }
                let operands = made.get_positionals().count();
                assert_eq!(operands, usize::from(defined.operands.is_some()));
            }
        }
    }
}
