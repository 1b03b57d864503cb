//! What every static Rust program has in it beside crates: Rust's library and musl.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

/// musl's licence, as its file COPYRIGHT has it.
pub(crate) const MUSL_LICENCE: &str = include_str!("../licences/musl.txt");

/// The tool chain's part of a program.
pub(crate) struct Runtime {
    rust: String,
    musl: String,
    sysroot: PathBuf,
}

impl Runtime {
    /// Asks the compiler which it is, and the target's library which musl is in it.
    pub(crate) fn of(target: &str) -> Result<Self> {
        let rust = rustc(&["--version"])?;
        let rust = rust.split_whitespace().nth(1).unwrap_or_default();
        let sysroot = PathBuf::from(rustc(&["--print=sysroot"])?);
        let archive = format!("lib/rustlib/{target}/lib/self-contained/libc.a");
        Ok(Self {
            rust: rust.to_owned(),
            musl: musl_version(&sysroot.join(archive))?,
            sysroot,
        })
    }

    /// The licences of Rust's library and of what that is made of, an HTML file.
    pub(crate) fn library_licences(&self) -> Result<Vec<u8>> {
        let path = self.sysroot.join("share/doc/rust/COPYRIGHT-library.html");
        std::fs::read(&path).with_context(|| path.display().to_string())
    }

    /// As components of the bill of materials.
    pub(crate) fn components(&self) -> [Value; 2] {
        let [library, musl] = self.references();
        [
            json!({
                "type": "library", "bom-ref": library, "name": "rust-std", "version": self.rust, "purl": library,
                "licenses": [{"expression": "MIT OR Apache-2.0"}],
            }),
            json!({
                "type": "library", "bom-ref": musl, "name": "musl", "version": self.musl, "purl": musl,
                "licenses": [{"expression": "MIT"}],
            }),
        ]
    }

    /// Their names in the bill of materials.
    pub(crate) fn references(&self) -> [String; 2] {
        let (rust, musl) = (&self.rust, &self.musl);
        [
            format!("pkg:generic/rust-std@{rust}"),
            format!("pkg:generic/musl@{musl}"),
        ]
    }
}

fn rustc(arguments: &[&str]) -> Result<String> {
    let program = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(program)
        .args(arguments)
        .output()
        .context("rustc cannot be started")?;
    if !output.status.success() {
        bail!("rustc: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// musl has its version as a string of its own (`src/internal/version.c`).
fn musl_version(archive: &Path) -> Result<String> {
    let bytes = std::fs::read(archive).with_context(|| archive.display().to_string())?;
    let is_version = |text: &str| {
        let parts: Vec<&str> = text.split('.').collect();
        let is_number = |part: &&str| part.parse::<u16>().is_ok();
        parts.len() == 3 && parts.first() == Some(&"1") && parts.iter().all(is_number)
    };
    bytes
        .split(|byte| *byte == 0)
        .filter(|piece| piece.len() <= 12)
        .filter_map(|piece| std::str::from_utf8(piece).ok())
        .find(|piece| is_version(piece))
        .map(str::to_owned)
        .with_context(|| format!("{} does not say its version", archive.display()))
}
