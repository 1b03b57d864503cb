//! Commands of this machine, run to their end.

use std::process::{Command, Output};

use anyhow::{Context as _, Result, bail};

/// Runs a command and returns what it printed on standard output.
///
/// # Errors
/// When it cannot be started or does not succeed; the error carries its standard error.
pub fn stdout_of(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .with_context(|| format!("{name} cannot be started"))?;
    text(&name, output)
}

fn text(name: &str, output: Output) -> Result<String> {
    if !output.status.success() {
        bail!(
            "{name}: {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    String::from_utf8(output.stdout).with_context(|| format!("{name}: its output is not UTF-8"))
}
