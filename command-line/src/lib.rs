//! A command line as data: one definition, from which come parsing, help and what errors
//! propose, and from which man pages and shell completions can be made.
//!
//! A [`Program`] is plain data, so that a packaging tool can walk it, for example into a
//! `clap::Command`. The programs that start for every container, and before each command that runs
//! near a device, carry no such library: half of what they do from start to end would be the parser's.

use std::process::ExitCode;

mod error;
mod help;
mod invocation;
mod option;
mod parse;

pub use error::UsageError;
pub use help::{Detail, command_help, program_help};
pub use invocation::Invocation;
pub use option::{CommandOption, Count, Value, ValueKind};
pub use parse::{Parsed, parse};

/// A program: its name, and what it can be told to do.
#[derive(Debug)]
pub struct Program {
    /// Its name, as the user types it.
    pub name: &'static str,
    /// Its version, as Cargo has it.
    pub version: &'static str,
    /// What it does: one line without a full stop.
    pub about: &'static str,
    /// More of it: paragraphs, each without line breaks.
    pub description: &'static [&'static str],
    /// What it can be told to do. The command is the first argument that is no option.
    pub commands: &'static [&'static Command],
    /// Options that every command takes, before its name or after it.
    pub options: &'static [&'static CommandOption],
    /// Such options for tests and the curious, of which no help speaks.
    pub hidden: &'static [&'static CommandOption],
    /// What its exit codes mean.
    pub exit_codes: &'static [ExitMeaning],
    /// The environment variables that it reads, each with its meaning.
    pub environment: &'static [(&'static str, &'static str)],
    /// The files that its user may write for it, each with its meaning.
    pub files: &'static [(&'static str, &'static str)],
}

/// What a program can be told to do.
#[derive(Debug)]
pub struct Command {
    /// Its name.
    pub name: &'static str,
    /// What it does: one line without a full stop.
    pub about: &'static str,
    /// More of it: paragraphs, each without line breaks.
    pub description: &'static [&'static str],
    /// Its options, under their headings.
    pub sections: &'static [&'static Section],
    /// What it takes beside options.
    pub operands: Option<Operands>,
    /// Command lines worth showing, each with what it does.
    pub examples: &'static [(&'static str, &'static str)],
    /// Carries it out.
    pub run: fn(&Invocation) -> Result<ExitCode, UsageError>,
}

/// Options under one heading.
#[derive(Debug)]
pub struct Section {
    /// The heading, like `Options`.
    pub heading: &'static str,
    /// The options.
    pub options: &'static [&'static CommandOption],
}

/// What a command takes beside options, one at least, each as the kernel hands it over.
#[derive(Debug)]
pub struct Operands {
    /// How usage and help show them, like `<FILE>...`.
    pub usage: &'static str,
    /// What they are: one sentence without a full stop.
    pub about: &'static str,
    /// Whether all of them stand behind `--`: another command with its arguments.
    pub behind_dashes: bool,
}

/// What an exit code means.
#[derive(Debug)]
pub struct ExitMeaning {
    /// The code.
    pub code: u8,
    /// What it means, in a few words.
    pub meaning: &'static str,
}

/// The exit code of wrong usage.
pub const WRONG_USAGE: u8 = 2;

impl Program {
    /// The command of this name.
    pub fn command(&self, name: &str) -> Option<&'static Command> {
        self.commands
            .iter()
            .copied()
            .find(|command| command.name == name)
    }

    /// The option of this name that every command takes.
    fn option(&self, name: &str) -> Option<&'static CommandOption> {
        let mut all = self.options.iter().chain(self.hidden).copied();
        all.find(|option| option.name == name)
    }
}

impl Command {
    /// All options, in the order of the help.
    pub fn options(&self) -> impl Iterator<Item = &'static CommandOption> {
        self.sections
            .iter()
            .flat_map(|section| section.options.iter().copied())
    }

    /// The option of this name.
    pub fn option(&self, name: &str) -> Option<&'static CommandOption> {
        self.options().find(|option| option.name == name)
    }
}
