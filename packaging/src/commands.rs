//! The shipped programs and their command lines, as they define them themselves.

use clap::{Command, CommandFactory as _};

use crate::clap_command;

/// A program that is shipped: the name of its package and of its binary.
pub(crate) struct Program {
    /// Both are the same.
    pub(crate) name: &'static str,
    /// Its command line.
    pub(crate) command: fn() -> Command,
}

/// All of them.
pub(crate) const PROGRAMS: [Program; 4] = [
    Program {
        name: "dra-guest-agent",
        command: || clap_command::of(&dra_guest_agent::command_line::PROGRAM),
    },
    Program {
        name: "dra-cdi-hook",
        command: || clap_command::of(&dra_cdi_hook::command_line::PROGRAM),
    },
    Program {
        name: "dra-guest-nri",
        command: dra_guest_nri::command_line::Arguments::command,
    },
    Program {
        name: "dra-guest-relay",
        command: dra_guest_relay::arguments::Arguments::command,
    },
];
