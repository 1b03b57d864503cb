//! What a command line asks for: a command and its options, as texts with access by type.

use std::ffi::OsString;
use std::fmt::Display;
use std::str::FromStr;

use super::{Command, CommandOption, Program, UsageError};

/// A command that was asked for, with its options as they were given.
#[derive(Debug)]
pub struct Invocation {
    pub(super) program: &'static Program,
    pub(super) command: &'static Command,
    pub(super) given: Vec<(&'static CommandOption, String)>,
    pub(super) operands: Vec<OsString>,
}

impl Invocation {
    /// The command.
    pub fn command(&self) -> &'static Command {
        self.command
    }

    /// What was given beside options.
    pub fn operands(&self) -> &[OsString] {
        &self.operands
    }

    /// Whether a switch, or an option at all, was given.
    pub fn has(&self, option: &CommandOption) -> bool {
        self.texts(option).next().is_some()
    }

    /// The value of an option: that which was given, else its default.
    ///
    /// # Errors
    /// When it is none of its type.
    pub fn value<T>(&self, option: &CommandOption) -> Result<Option<T>, UsageError>
    where
        T: FromStr<Err: Display>,
    {
        let default = option.value.as_ref().and_then(|value| value.default);
        let text = self.texts(option).next_back().or(default);
        text.map(|text| self.parse(option, text)).transpose()
    }

    /// The value of an option that is required or has a default.
    ///
    /// # Errors
    /// When it is none of its type, or was not given.
    pub fn required<T>(&self, option: &CommandOption) -> Result<T, UsageError>
    where
        T: FromStr<Err: Display>,
    {
        self.value(option)?
            .ok_or_else(|| UsageError::missing(self.program, self.command, option))
    }

    /// The value of an option that is a [`Number`](super::ValueKind::Number), which was looked at when it was read.
    pub fn number(&self, option: &CommandOption) -> Option<u32> {
        let default = option.value.as_ref().and_then(|value| value.default);
        let text = self.texts(option).next_back().or(default)?;
        text.parse().ok()
    }

    /// All values of an option, in the order in which they were given.
    ///
    /// # Errors
    /// When one is none of its type.
    pub fn values<T>(&self, option: &CommandOption) -> Result<Vec<T>, UsageError>
    where
        T: FromStr<Err: Display>,
    {
        self.texts(option)
            .map(|text| self.parse(option, text))
            .collect()
    }

    fn texts(&self, option: &CommandOption) -> impl DoubleEndedIterator<Item = &str> {
        self.given
            .iter()
            .filter(move |(given, _)| given.name == option.name)
            .map(|(_, text)| text.as_str())
    }

    fn parse<T>(&self, option: &CommandOption, text: &str) -> Result<T, UsageError>
    where
        T: FromStr<Err: Display>,
    {
        text.parse()
            .map_err(|error: T::Err| self.invalid(option, text, &error.to_string()))
    }

    fn invalid(&self, option: &CommandOption, text: &str, reason: &str) -> UsageError {
        UsageError::invalid(self.program, Some(self.command), option, text, reason)
    }
}
