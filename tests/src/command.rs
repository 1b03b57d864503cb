//! Commands of this machine, run to their end.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

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

/// Runs a script that makes something once and prints where it is: the recipe of an image, say.
///
/// # Errors
/// When it cannot be started or does not succeed; its own words are on standard error.
pub fn made_by(script: &mut Command) -> Result<PathBuf> {
    let name = script.get_program().to_string_lossy().into_owned();
    let output = script
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("{name} cannot be started"))?;
    if !output.status.success() {
        bail!("{name} failed: its words are above");
    }
    let path = text(&name, output)?;
    Ok(PathBuf::from(path.trim()))
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
