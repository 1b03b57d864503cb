//! Options of a command line.

/// An option: `--name`, `--name VALUE` or `--name=VALUE`.
#[derive(Debug)]
pub struct CommandOption {
    /// Its name, without dashes.
    pub name: &'static str,
    /// Its value; a switch has none.
    pub value: Option<Value>,
    /// What it does: one sentence without a full stop.
    pub about: &'static str,
    /// More of it, for `--help`; may be empty.
    pub description: &'static str,
}

/// The value of an option.
#[derive(Debug)]
pub struct Value {
    /// Its name in usage and help, like `DIR`.
    pub name: &'static str,
    /// What it is.
    pub kind: ValueKind,
    /// How often it is given.
    pub count: Count,
    /// What holds where the option is not given.
    pub default: Option<&'static str>,
}

/// What a value is: what a shell completes.
#[derive(Debug, Clone, Copy)]
pub enum ValueKind {
    /// A file.
    File,
    /// A directory.
    Directory,
    /// A text of no fixed set.
    Text,
    /// A whole number within these bounds, both included.
    Number {
        /// The least.
        least: u32,
        /// The greatest.
        most: u32,
    },
    /// One of these.
    OneOf(&'static [&'static str]),
}

/// How often an option may be given, and with how many values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// Once at most, with one value.
    Once,
    /// Once at least, with one value: the command does nothing without it.
    Required,
    /// Any number of times, with one value each.
    Repeated,
    /// Any number of times, with one or more values each.
    List,
}

impl CommandOption {
    /// A switch.
    pub const fn switch(name: &'static str, about: &'static str) -> Self {
        Self {
            name,
            value: None,
            about,
            description: "",
        }
    }

    /// An option whose value is a directory.
    pub const fn directory(name: &'static str, about: &'static str) -> Self {
        Self::valued(name, "DIR", ValueKind::Directory, about)
    }

    /// An option whose value is a file.
    pub const fn file(name: &'static str, about: &'static str) -> Self {
        Self::valued(name, "FILE", ValueKind::File, about)
    }

    /// An option with another value, `shown` so in usage and help; once at most, without a default.
    pub const fn valued(
        name: &'static str,
        shown: &'static str,
        kind: ValueKind,
        about: &'static str,
    ) -> Self {
        Self {
            name,
            value: Some(Value {
                name: shown,
                kind,
                count: Count::Once,
                default: None,
            }),
            about,
            description: "",
        }
    }

    /// It, with more to say of it.
    #[must_use]
    pub const fn described(self, description: &'static str) -> Self {
        Self {
            description,
            ..self
        }
    }

    /// It, with what holds where it is not given. A switch has no such thing.
    #[must_use]
    pub const fn or(self, default: &'static str) -> Self {
        let value = match self.value {
            Some(value) => Some(Value {
                default: Some(default),
                ..value
            }),
            None => None,
        };
        Self { value, ..self }
    }

    /// It, given as often as that. A switch is given once.
    #[must_use]
    pub const fn given(self, count: Count) -> Self {
        let value = match self.value {
            Some(value) => Some(Value { count, ..value }),
            None => None,
        };
        Self { value, ..self }
    }

    /// Whether the command does nothing without it.
    pub fn is_required(&self) -> bool {
        self.value
            .as_ref()
            .is_some_and(|value| value.count == Count::Required)
    }
}
