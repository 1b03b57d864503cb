//! The relay's image, built by podman from `deploy/Containerfile` as a user builds it.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::command::stdout_of;
use crate::programs::{static_program, workspace};

/// The image's name.
pub const RELAY_IMAGE: &str = "dra-guest.example.com/dra-guest-relay:test";

/// Writes an archive of it that containerd imports.
pub(super) fn write(archive: &Path) -> Result<()> {
    let directory = tempfile::Builder::new()
        .prefix("dra-guest-image-")
        .tempdir()?;
    let context = directory.path().join("context");
    fs::create_dir(&context)?;
    let relay = "dra-guest-relay";
    fs::copy(static_program(relay)?, context.join(relay))?;
    // Not in the storage of whoever runs the tests.
    let podman = || {
        let mut command = Command::new("podman");
        command
            .arg("--root")
            .arg(directory.path().join("storage"))
            .arg("--runroot")
            .arg(directory.path().join("run"))
            .args(["--storage-driver=vfs", "--events-backend=none"]);
        command
    };
    let recipe = workspace().join("deploy/Containerfile");
    stdout_of(
        podman()
            .args(["build", "--quiet", "--tag", RELAY_IMAGE, "--file"])
            .args([&recipe, &context]),
    )?;
    stdout_of(
        podman()
            .args(["save", "--quiet", "--format=docker-archive", "--output"])
            .arg(archive)
            .arg(RELAY_IMAGE),
    )?;
    Ok(())
}
