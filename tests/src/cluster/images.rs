//! The images of `deploy/`, built by podman from its recipes as a user builds them.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::command::stdout_of;
use crate::programs::{static_program, workspace};

/// The relay's image.
pub const RELAY_IMAGE: &str = "dra-guest.example.com/dra-guest-relay:test";
/// The image of the hook's installer.
pub const HOOK_IMAGE: &str = "dra-guest.example.com/dra-guest-hook:test";
/// The NRI plugin's image.
pub const NRI_IMAGE: &str = "dra-guest.example.com/dra-guest-nri:test";

/// Writes an archive of the relay's image that containerd imports.
///
/// # Errors
/// When the relay or the image does not build; the error has podman's words.
pub(super) fn write_relay_image(archive: &Path) -> Result<()> {
    write(
        RELAY_IMAGE,
        "deploy/Containerfile",
        &["dra-guest-relay"],
        archive,
    )
}

/// The same of the hook's installer.
///
/// # Errors
/// When the hook or the image does not build.
pub fn write_hook_image(archive: &Path) -> Result<()> {
    write(
        HOOK_IMAGE,
        "deploy/hook/Containerfile",
        &["dra-cdi-hook"],
        archive,
    )
}

/// The same of the NRI plugin, which brings the hook.
///
/// # Errors
/// When a program or the image does not build.
pub fn write_nri_image(archive: &Path) -> Result<()> {
    write(
        NRI_IMAGE,
        "deploy/nri/Containerfile",
        &["dra-guest-nri", "dra-cdi-hook"],
        archive,
    )
}

fn write(image: &str, recipe: &str, programs: &[&str], archive: &Path) -> Result<()> {
    let directory = tempfile::Builder::new()
        .prefix("dra-guest-image-")
        .tempdir()?;
    let context = directory.path().join("context");
    fs::create_dir(&context)?;
    for program in programs {
        fs::copy(static_program(program)?, context.join(program))?;
    }
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
    let recipe = workspace().join(recipe);
    stdout_of(
        podman()
            .args(["build", "--quiet", "--tag", image, "--file"])
            .args([&recipe, &context]),
    )?;
    stdout_of(
        podman()
            .args(["save", "--quiet", "--format=docker-archive", "--output"])
            .arg(archive)
            .arg(image),
    )?;
    Ok(())
}
