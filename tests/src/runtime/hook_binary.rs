//! The hook as it is shipped: the static release binary, built once a run.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Builds the static release binary of the hook, and says where it is.
///
/// # Errors
/// When cargo fails; its own words are on standard error.
pub fn static_hook() -> io::Result<&'static Path> {
    static HOOK: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    match HOOK.get_or_init(|| build("dra-cdi-hook").map_err(|error| error.to_string())) {
        Ok(path) => Ok(path),
        Err(error) => Err(io::Error::other(error.clone())),
    }
}

fn build(package: &str) -> io::Result<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    let output = Command::new(env!("CARGO"))
        .current_dir(workspace)
        .args([
            "build",
            "--quiet",
            "--locked",
            "--release",
            "--package",
            package,
        ])
        .args(["--target", &target])
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(io::Error::other(format!("{package} does not build")));
    }
    output
        .stdout
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<serde_json::Value>(line).ok())
        .filter_map(|message| Some(PathBuf::from(message.get("executable")?.as_str()?)))
        .find(|path| path.ends_with(package))
        .ok_or_else(|| io::Error::other(format!("cargo named no binary of {package}")))
}
