//! Builds the packages.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

use crate::programs::{forget_package, target_directory, workspace};

/// The time that the packages' files are to have, in seconds since 1970: 2026-01-01.
pub const SOURCE_TIME: &str = "1767225600";

/// The target of this machine.
pub fn target() -> String {
    format!("{}-unknown-linux-musl", std::env::consts::ARCH)
}

/// The packages of one version, in a directory that goes with this.
#[derive(Debug)]
pub struct Packages {
    directory: TempDir,
    version: String,
    target: String,
}

impl Packages {
    /// Builds all of them for this machine, under this version.
    ///
    /// # Errors
    /// When the recipe fails; the error carries its words.
    pub fn build(version: &str) -> Result<Self> {
        Self::build_with(version, &target(), SOURCE_TIME, &[])
    }

    /// As [`Packages::build`], the agent's alone.
    ///
    /// # Errors
    /// As [`Packages::build`].
    pub fn build_agent(version: &str) -> Result<Self> {
        Self::build_agent_at(SOURCE_TIME, version)
    }

    /// As [`Packages::build_agent`], with another time of its files, in seconds since 1970.
    ///
    /// # Errors
    /// As [`Packages::build`].
    pub fn build_agent_at(time: &str, version: &str) -> Result<Self> {
        Self::build_with(version, &target(), time, &["--only", "agent"])
    }

    /// As [`Packages::build`], for a target.
    ///
    /// # Errors
    /// As [`Packages::build`].
    pub fn build_for(version: &str, target: &str) -> Result<Self> {
        Self::build_with(version, target, SOURCE_TIME, &[])
    }

    fn build_with(version: &str, target: &str, time: &str, options: &[&str]) -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let mut recipe = Command::new(workspace().join("packaging/build.sh"));
        forget_package(&mut recipe);
        let output = recipe
            .env("SOURCE_DATE_EPOCH", time)
            .env("CARGO_TARGET_DIR", target_directory()?)
            .args(["--version", version, "--out"])
            .arg(directory.path())
            .args(options)
            .arg(target)
            .output()
            .context("packaging/build.sh cannot be started")?;
        if !output.status.success() {
            bail!(
                "packaging/build.sh: {}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
        }
        Ok(Self {
            directory,
            version: version.to_owned(),
            target: target.to_owned(),
        })
    }

    /// The Debian package of that name.
    ///
    /// # Errors
    /// When it was not built.
    pub fn deb(&self, name: &str) -> Result<PathBuf> {
        let architecture = match self.architecture() {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        };
        self.file(format!("{name}_{}-1_{architecture}.deb", self.version))
    }

    /// The RPM package of that name.
    ///
    /// # Errors
    /// When it was not built.
    pub fn rpm(&self, name: &str) -> Result<PathBuf> {
        let architecture = self.architecture();
        self.file(format!("{name}-{}-1.{architecture}.rpm", self.version))
    }

    /// All of them.
    ///
    /// # Errors
    /// When one was not built.
    pub fn all(&self) -> Result<Vec<PathBuf>> {
        let names = ["dra-guest-agent", "dra-guest-node"];
        let both = names.map(|name| [self.deb(name), self.rpm(name)]);
        both.into_iter().flatten().collect()
    }

    fn architecture(&self) -> &str {
        self.target.split('-').next().unwrap_or_default()
    }

    fn file(&self, name: String) -> Result<PathBuf> {
        let path = self.directory.path().join(name);
        if !path.is_file() {
            let there = std::fs::read_dir(self.directory.path())?;
            let there: Vec<_> = there.flatten().map(|entry| entry.file_name()).collect();
            bail!("{} was not built: there is {there:?}", path.display());
        }
        Ok(path)
    }
}
