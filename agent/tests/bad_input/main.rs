//! Bad input, through the real binary: each kind with its message and exit code.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::too_many_lines
)]

mod attributes;
mod surroundings;

use std::path::Path;
use std::process::{Command, Stdio};

/// As the blog posts print it.
pub(crate) const FLAT: &str =
    r#"{"pciAddress": "0000:3b:00.1", "macAddress": "52:54:00:ab:cd:ef", "numaNode": 0}"#;

/// What the program said and how it ended.
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs the agent with private `/run` and `/etc`.
pub(crate) fn agent(directory: &Path, arguments: &[&str]) -> Said {
    let output = Command::new(env!("CARGO_BIN_EXE_dra-guest-agent"))
        .args(arguments)
        .arg("--run-root")
        .arg(directory.join("run"))
        .arg("--etc-root")
        .arg(directory.join("etc"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    Said {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
