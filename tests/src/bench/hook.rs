//! The hook against the floor, a static program that does nothing, and against nvidia-cdi-hook, which
//! most nodes with CDI run today, making one link.
//!
//! The hook syncs the document before it is renamed into place, so the disk below the VM mount is in
//! its time; nvidia-cdi-hook does not sync. Both are shown: a VM mount on this disk, and one in
//! memory (an emptyDir of medium Memory).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::json;

use super::timing::{Candidate, medians};
use crate::cache;
use crate::command::stdout_of;
use crate::programs::static_program;
use crate::way;

/// How often each runs.
const ROUNDS: usize = 200;

/// A container at the moment of its createContainer hooks.
#[derive(Debug)]
pub struct HookBench {
    rootfs: PathBuf,
    mount: PathBuf,
    nothing_glibc: PathBuf,
    nothing_musl: PathBuf,
    state: Vec<u8>,
}

/// Median wall times.
#[derive(Debug, Clone, Copy)]
pub struct HookFigures {
    /// A static C program that returns 0, with glibc, as Debian's gcc builds it.
    pub nothing_glibc: Duration,
    /// The same with musl, the hook's own C library, which starts faster.
    pub nothing_musl: Duration,
    /// The hook, one metadata file, document written to memory.
    pub hook: Duration,
    /// The same, written to this machine's disk.
    pub hook_on_disk: Duration,
    /// nvidia-cdi-hook, one link made.
    pub nvidia: Duration,
}

impl HookBench {
    /// Lays out the container below `directory`, in the mount namespace of this process.
    ///
    /// # Errors
    /// When a file, the mount or the C program cannot be made.
    pub fn new(directory: &Path) -> Result<Self> {
        let rootfs = directory.join("rootfs");
        let metadata = rootfs.join(way::METADATA_PATH.trim_start_matches('/'));
        fs::create_dir_all(metadata.parent().context("no directory")?)?;
        let source = directory.join("metadata.json");
        fs::write(&source, way::METADATA)?;
        fs::write(&metadata, "")?;
        // The hook takes only metadata that a driver has mounted, and writes only into a mount.
        let (volume, mount) = (
            directory.join("volume"),
            rootfs.join(way::VM_MOUNT.trim_start_matches('/')),
        );
        fs::create_dir_all(&volume)?;
        fs::create_dir_all(&mount)?;
        for (source, target) in [(&source, &metadata), (&volume, &mount)] {
            stdout_of(Command::new("mount").arg("--bind").args([source, target]))?;
        }
        fs::write(
            directory.join("config.json"),
            serde_json::to_vec(&json!({"ociVersion": "1.0.2", "root": {"path": "rootfs"}}))?,
        )?;
        let state = serde_json::to_vec(&json!({
            "ociVersion": "1.0.2", "id": "bench", "status": "creating", "pid": 1,
            "bundle": directory,
        }))?;

        Ok(Self {
            rootfs,
            mount,
            nothing_glibc: nothing(directory, "gcc")?,
            nothing_musl: nothing(directory, "musl-gcc")?,
            state,
        })
    }

    /// Measures, with the VM mount on disk and then in memory.
    ///
    /// # Errors
    /// When one of the programs fails.
    pub fn measure(&self) -> Result<HookFigures> {
        let [_, _, hook_on_disk, _] = self.medians()?;
        stdout_of(
            Command::new("mount")
                .args(["-t", "tmpfs", "tmpfs"])
                .arg(&self.mount),
        )?;
        let [nothing_glibc, nothing_musl, hook, nvidia] = self.medians()?;
        Ok(HookFigures {
            nothing_glibc,
            nothing_musl,
            hook,
            hook_on_disk,
            nvidia,
        })
    }

    fn medians(&self) -> Result<[Duration; 4]> {
        let hook = text(static_program("dra-cdi-hook")?)?;
        let nvidia = text(cache::tool("nvidia-cdi-hook")?)?;
        let nothing_glibc = text(self.nothing_glibc.clone())?;
        let nothing_musl = text(self.nothing_musl.clone())?;
        let document = self.mount.join("device-attributes.json");
        let link = self.rootfs.join("link");
        let no_document = || remove(&document);
        let no_link = || remove(&link);
        let candidates = [
            Candidate {
                name: "nothing, with glibc",
                command: vec![&nothing_glibc],
                stdin: &self.state,
                reset: &|| Ok(()),
            },
            Candidate {
                name: "nothing, with musl",
                command: vec![&nothing_musl],
                stdin: &self.state,
                reset: &|| Ok(()),
            },
            Candidate {
                name: "dra-cdi-hook",
                command: vec![&hook, "create-container"],
                stdin: &self.state,
                reset: &no_document,
            },
            Candidate {
                name: "nvidia-cdi-hook",
                command: vec![&nvidia, "create-symlinks", "--link", "target::/link"],
                stdin: &self.state,
                reset: &no_link,
            },
        ];
        let times = medians(ROUNDS, &candidates)?;
        for made in [&document, &link] {
            made.symlink_metadata()
                .with_context(|| format!("{} was not made", made.display()))?;
        }
        times.try_into().ok().context("four candidates")
    }
}

/// Builds a static C program that returns 0.
pub(super) fn nothing(directory: &Path, compiler: &str) -> Result<PathBuf> {
    let source = directory.join("nothing.c");
    let program = directory.join(format!("nothing-{compiler}"));
    fs::write(&source, "int main(void) { return 0; }\n")?;
    stdout_of(
        Command::new(compiler)
            .args(["-static", "-O2", "-o"])
            .args([&program, &source]),
    )?;
    Ok(program)
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("{} cannot be removed", path.display()))
        }
        _ => Ok(()),
    }
}

fn text(path: PathBuf) -> Result<String> {
    path.into_os_string()
        .into_string()
        .ok()
        .context("a path is not UTF-8")
}
