//! The hook's command line. [`PROGRAM`] is the definition of it, as data.

mod definition;
pub mod options;

pub use ::command_line::{
    Command, CommandOption, Count, ExitMeaning, Invocation, Parsed, Program, Section, UsageError,
    ValueKind, WRONG_USAGE, parse,
};

pub use definition::{
    CREATE_CONTAINER, DOCTOR, GENERATE, HOOK_SECTION, INSTALL, PROGRAM, SPEC, UNINSTALL,
};
