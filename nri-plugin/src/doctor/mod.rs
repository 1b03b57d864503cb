//! `dra-guest-nri doctor`: what would keep the plugin on this node from its work, and what to do about it.
//!
//! It looks at the runtime's socket and configuration ([`runtime`]), for a plugin that is connected, for the hook, for what live updates
//! take ([`node`]), and for the relay. It changes nothing, and needs no network.

pub mod node;
pub mod runtime;

use std::io::{self, Write as _};
use std::process::ExitCode;

use crate::command_line::{Arguments, DoctorArguments};

use examination::Examination;

/// Looks at everything, and prints what it saw.
///
/// # Errors
/// When nothing can be printed.
pub fn run(arguments: &Arguments, doctor: &DoctorArguments) -> io::Result<ExitCode> {
    let examination = examine(arguments, doctor);
    let text = if doctor.json {
        serde_json::to_string_pretty(&examination).map_err(io::Error::other)? + "\n"
    } else {
        examination.to_string()
    };
    io::stdout().write_all(text.as_bytes())?;
    Ok(if examination.findings == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn examine(arguments: &Arguments, doctor: &DoctorArguments) -> Examination {
    let mut examination = Examination::new();
    runtime::socket(&arguments.socket, &mut examination);
    node::plugin(
        arguments.state.as_ref(),
        &arguments.socket,
        &mut examination,
    );
    runtime::containerd(
        &doctor.containerd_config,
        &arguments.socket,
        &mut examination,
    );
    node::hook(arguments.hook.as_ref(), &mut examination);
    node::kubelet(&arguments.kubelet, &mut examination);
    if let Some(socket) = &arguments.attributes_socket {
        node::relay(socket, &mut examination);
    }
    examination
}
