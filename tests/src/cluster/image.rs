//! The one image of a cluster, a busybox that sleeps until it is told to end, as an archive that
//! containerd imports. It serves as the sandbox's image too: nothing is pulled.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::command::stdout_of;
use crate::runtime::busybox_root;

/// The image's name; `containerd.toml` has it too.
pub const IMAGE: &str = "dra-guest.example.com/busybox:test";
/// Without the trap the kernel keeps SIGTERM from it, the first process of its namespace.
const COMMAND: &str = "trap 'exit 0' TERM; sleep 2147483647 & wait";

/// Writes the archive of an OCI image layout.
pub(crate) fn write(archive: &Path) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let root = directory.path().join("root");
    busybox_root(&root)?;
    write_of(&root, archive)
}

/// The same, of another root file system.
pub(crate) fn write_of(root: &Path, archive: &Path) -> Result<()> {
    let directory = tempfile::Builder::new()
        .prefix("dra-guest-layout-")
        .tempdir()?;
    let layout = directory.path().join("layout");
    let blobs = layout.join("blobs/sha256");
    fs::create_dir_all(&blobs)?;
    let tar = directory.path().join("layer.tar");
    stdout_of(
        Command::new("tar")
            .arg("--create")
            .arg("--file")
            .arg(&tar)
            .arg("--directory")
            .arg(root)
            .arg("."),
    )?;
    let layer = add(
        &blobs,
        "application/vnd.oci.image.layer.v1.tar",
        &fs::read(&tar)?,
    )?;
    let config = json!({
        "architecture": architecture(), "os": "linux",
        "config": {"Entrypoint": ["/bin/sh", "-c", COMMAND], "Env": ["PATH=/bin"]},
        "rootfs": {"type": "layers", "diff_ids": [layer.get("digest")]},
    });
    let config = add(
        &blobs,
        "application/vnd.oci.image.config.v1+json",
        config.to_string().as_bytes(),
    )?;
    let kind = "application/vnd.oci.image.manifest.v1+json";
    let manifest =
        json!({"schemaVersion": 2, "mediaType": kind, "config": config, "layers": [layer]});
    let mut manifest = add(&blobs, kind, manifest.to_string().as_bytes())?;
    if let Some(fields) = manifest.as_object_mut() {
        let name = json!({"io.containerd.image.name": IMAGE});
        fields.insert("annotations".to_owned(), name);
    }
    fs::write(
        layout.join("index.json"),
        json!({"schemaVersion": 2, "manifests": [manifest]}).to_string(),
    )?;
    fs::write(
        layout.join("oci-layout"),
        json!({"imageLayoutVersion": "1.0.0"}).to_string(),
    )?;
    stdout_of(
        Command::new("tar")
            .arg("--create")
            .arg("--file")
            .arg(archive)
            .arg("--directory")
            .arg(&layout)
            .arg("."),
    )
    .context("the image's archive")?;
    Ok(())
}

/// Writes a blob and returns its descriptor.
fn add(blobs: &Path, kind: &str, bytes: &[u8]) -> Result<Value> {
    let mut digest = String::new();
    for byte in Sha256::digest(bytes) {
        write!(digest, "{byte:02x}")?;
    }
    fs::write(blobs.join(&digest), bytes)?;
    Ok(json!({"mediaType": kind, "digest": format!("sha256:{digest}"), "size": bytes.len()}))
}

fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
