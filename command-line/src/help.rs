//! The help texts.

use std::fmt::Write as _;

use super::error::usage_of;
use super::{Command, CommandOption, Count, Program, Value, ValueKind};

/// How much help says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// `-h`: a line each.
    Short,
    /// `--help`: all.
    Full,
}

/// The columns of a help text; a terminal has 80 unless its user made it wider.
const WIDTH: usize = 80;

/// The help of the program.
pub fn program_help(program: &Program, detail: Detail) -> String {
    let mut text = String::new();
    wrap(&mut text, program.about, 0);
    if detail == Detail::Full {
        paragraphs(&mut text, program.description);
    }
    let _ = write!(text, "\nUsage: {} <COMMAND>\n\nCommands:\n", program.name);
    let commands = program
        .commands
        .iter()
        .map(|command| (command.name, command.about));
    let rows: Vec<(&str, &str)> = commands
        .chain([("help", "Print this, or the help of a command")])
        .collect();
    table(&mut text, &rows);
    text.push_str("\nOptions:\n");
    table(
        &mut text,
        &[
            ("-h, --help", "Print help; of a command with COMMAND --help"),
            ("-V, --version", "Print the version"),
        ],
    );
    options(&mut text, program.options, detail);
    if detail == Detail::Full {
        for (heading, rows) in [
            ("Environment", program.environment),
            ("Files", program.files),
        ] {
            if !rows.is_empty() {
                let _ = writeln!(text, "\n{heading}:");
                table(&mut text, rows);
            }
        }
        exit_codes(&mut text, program);
    }
    text
}

fn paragraphs(text: &mut String, paragraphs: &[&str]) {
    for paragraph in paragraphs {
        text.push('\n');
        wrap(text, paragraph, 0);
    }
}

/// The help of a command.
pub fn command_help(program: &Program, command: &Command, detail: Detail) -> String {
    let mut text = String::new();
    wrap(&mut text, command.about, 0);
    if detail == Detail::Full {
        paragraphs(&mut text, command.description);
    }
    let _ = write!(text, "\nUsage: {} {}", program.name, command.name);
    for option in command.options().filter(|option| option.is_required()) {
        let _ = write!(text, " {}", usage_of(option));
    }
    if command
        .options()
        .chain(program.options.iter().copied())
        .any(|option| !option.is_required())
    {
        text.push_str(" [OPTIONS]");
    }
    if let Some(operands) = &command.operands {
        let usage = operands.usage;
        let _ = write!(text, " {usage}\n\nArguments:\n  {usage}\n");
        wrap(&mut text, operands.about, 10);
    } else {
        text.push('\n');
    }
    for section in command.sections {
        let _ = writeln!(text, "\n{}:", section.heading);
        options(&mut text, section.options, detail);
    }
    if !program.options.is_empty() {
        text.push_str("\nOptions of every command:\n");
        options(&mut text, program.options, detail);
    }
    if detail == Detail::Full && !command.examples.is_empty() {
        text.push_str("\nExamples:\n");
        for (line, meaning) in command.examples {
            // Not broken: it is there to be copied.
            let _ = writeln!(text, "  {line}");
            wrap(&mut text, meaning, 10);
        }
    }
    if detail == Detail::Full {
        exit_codes(&mut text, program);
    }
    text
}

fn options(text: &mut String, options: &[&CommandOption], detail: Detail) {
    for (index, option) in options.iter().enumerate() {
        if detail == Detail::Full && index > 0 {
            text.push('\n');
        }
        let _ = writeln!(text, "  {}", usage_of(option));
        describe(text, option, detail);
    }
}

fn describe(text: &mut String, option: &CommandOption, detail: Detail) {
    let mut about = option.about.to_owned();
    if let Some(value) = &option.value {
        about.push_str(&facts(value));
    }
    wrap(text, &about, 10);
    if detail == Detail::Full && !option.description.is_empty() {
        text.push('\n');
        wrap(text, option.description, 10);
    }
}

/// Default, choices and repetition of a value, in brackets.
fn facts(value: &Value) -> String {
    let mut facts = String::new();
    if let ValueKind::OneOf(choices) = value.kind {
        let _ = write!(facts, " [one of: {}]", choices.join(", "));
    }
    if let Some(default) = value.default {
        let _ = write!(facts, " [default: {default}]");
    }
    if matches!(value.count, Count::Repeated | Count::List) {
        facts.push_str(" [repeatable]");
    }
    facts
}

fn exit_codes(text: &mut String, program: &Program) {
    text.push_str("\nExit codes:\n");
    for exit in program.exit_codes {
        let _ = writeln!(text, "  {}  {}", exit.code, exit.meaning);
    }
}

/// Names and their meanings, in two columns.
fn table(text: &mut String, rows: &[(&str, &str)]) {
    let widest = rows.iter().map(|(name, _)| name.len()).max();
    let indent = widest.unwrap_or_default() + 4;
    for (name, meaning) in rows {
        let start = text.len();
        wrap(text, meaning, indent);
        let name = format!("  {name}");
        // The first line was indented with as many spaces.
        text.replace_range(start..start + name.len(), &name);
    }
}

/// Appends a paragraph, its lines indented and broken between words.
fn wrap(text: &mut String, paragraph: &str, indent: usize) {
    let mut column = 0;
    for word in paragraph.split(' ') {
        let length = word.chars().count();
        if column == 0 || column + 1 + length > WIDTH {
            if column > 0 {
                text.push('\n');
            }
            text.extend(std::iter::repeat_n(' ', indent));
            column = indent;
        } else {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text.push('\n');
}
