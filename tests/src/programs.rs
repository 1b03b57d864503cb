//! The programs under test as they are shipped: static release binaries, built once a run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result, bail};

use crate::command::stdout_of;

/// Builds the static release binary of a package for this machine, and says where it is.
///
/// # Errors
/// When cargo fails; its own words are on standard error.
pub fn static_program(package: &str) -> Result<PathBuf> {
    static_program_for(
        package,
        &format!("{}-unknown-linux-musl", std::env::consts::ARCH),
    )
}

/// As [`static_program`], for a target.
///
/// # Errors
/// As [`static_program`].
pub fn static_program_for(package: &str, target: &str) -> Result<PathBuf> {
    static BUILT: Mutex<BTreeMap<(String, String), PathBuf>> = Mutex::new(BTreeMap::new());
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (package.to_owned(), target.to_owned());
    if let Some(path) = built.get(&key) {
        return Ok(path.clone());
    }
    let path = build(package, target)?;
    built.insert(key, path.clone());
    Ok(path)
}

/// The CDI spec that the hook prints for this machine, naming itself.
///
/// # Errors
/// When the hook does not build, or fails.
pub fn cdi_spec() -> Result<String> {
    let hook = static_program("dra-cdi-hook")?;
    stdout_of(Command::new(&hook).args(["spec", "--hook-path"]).arg(&hook))
}

fn build(package: &str, target: &str) -> Result<PathBuf> {
    let output = cargo()
        .args(["build", "--quiet", "--locked", "--release", "--package"])
        .arg(package)
        .args(["--target", target])
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()
        .context("cargo cannot be started")?;
    if !output.status.success() {
        bail!("{package} does not build: cargo's words are above");
    }
    output
        .stdout
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<serde_json::Value>(line).ok())
        .filter_map(|message| Some(PathBuf::from(message.get("executable")?.as_str()?)))
        .find(|path| path.ends_with(package))
        .with_context(|| format!("cargo named no binary of {package}"))
}

/// Cargo, in the workspace.
pub fn cargo() -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(workspace());
    forget_package(&mut cargo);
    cargo
}

/// Takes from a command what cargo says to a program of a package that it runs: a build script (ring's) would take it
/// for a change, and all would be built anew each time.
pub fn forget_package(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&*name);
        }
    }
}

/// The root of the workspace.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or(Path::new("/"))
        .to_owned()
}

/// Cargo's target directory, found from the running program.
///
/// # Errors
/// When the program does not lie in one.
pub fn target_directory() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    program
        .ancestors()
        .find(|directory| directory.join("CACHEDIR.TAG").exists())
        .map(Path::to_owned)
        .with_context(|| format!("{} is not in a target directory", program.display()))
}
