//! A Debian root that a test may change: an overlay on the one in the cache.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

use crate::command::made_by;
use crate::programs::workspace;

/// Mounts the root for one command, in a mount namespace of its own.
const MOUNT: &str = r#"
set -e
directory=$1 lower=$2 command=$3
mount -t overlay overlay -o "lowerdir=$lower,upperdir=$directory/upper,workdir=$directory/work" "$directory/root"
mount -t proc proc "$directory/root/proc"
mount -t sysfs -o ro sysfs "$directory/root/sys"
mount --bind "$directory/host" "$directory/root/mnt"
"#;
/// mkosi makes a sandbox of its own from them.
const BUILDER_MOUNTS: &str = r#"
mount --rbind /dev "$directory/root/dev"
mount -t tmpfs tmpfs "$directory/root/run"
"#;
/// Runs the command there.
const CHROOT: &str = r#"exec chroot "$directory/root" /bin/sh -c "$command""#;

/// A minimal Debian 13 with systemd, not running. What is changed in it goes with this.
#[derive(Debug)]
pub struct DebianRoot {
    directory: TempDir,
    lower: PathBuf,
    /// What is mounted in it beside the kernel's file systems, as a shell's commands.
    mounts: &'static str,
}

impl DebianRoot {
    /// Finds the root in the cache, or makes it, which takes a minute.
    ///
    /// # Errors
    /// When the recipe fails; its own words are on standard error.
    pub fn new() -> Result<Self> {
        Self::of_kind("minimal", "")
    }

    /// As [`DebianRoot::new`], with the programs that build images and with this machine's devices.
    ///
    /// # Errors
    /// As [`DebianRoot::new`].
    pub fn builder() -> Result<Self> {
        Self::of_kind("builder", BUILDER_MOUNTS)
    }

    fn of_kind(kind: &str, mounts: &'static str) -> Result<Self> {
        let recipe = workspace().join("tests/src/packages/root.sh");
        let lower = made_by(Command::new(recipe).arg(kind))?;
        let directory = tempfile::tempdir()?;
        for name in ["upper", "work", "root", "host"] {
            fs::create_dir(directory.path().join(name))?;
        }
        Ok(Self {
            directory,
            lower,
            mounts,
        })
    }

    /// Puts a file of this machine where the root has it as `/mnt/NAME`, and says that path.
    ///
    /// # Errors
    /// When it cannot be copied.
    pub fn bring(&self, file: &Path) -> Result<String> {
        let name = file.file_name().context("a file has a name")?;
        fs::copy(file, self.directory.path().join("host").join(name))
            .with_context(|| file.display().to_string())?;
        Ok(format!("/mnt/{}", name.to_string_lossy()))
    }

    /// Where this machine finds the file that the root has as `/mnt/NAME`.
    pub fn brought(&self, name: &str) -> PathBuf {
        self.directory.path().join("host").join(name)
    }

    /// Runs a shell command as root in it.
    ///
    /// # Errors
    /// When it cannot be started. A command that fails is an outcome.
    pub fn run(&self, command: &str) -> Result<Output> {
        self.start(&format!("{MOUNT}{}{CHROOT}", self.mounts), command)
    }

    fn start(&self, script: &str, command: &str) -> Result<Output> {
        Command::new("unshare")
            .args(["--mount", "--propagation=private", "sh", "-c", script, "sh"])
            .arg(self.directory.path())
            .arg(&self.lower)
            .arg(command)
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("LC_ALL", "C")
            .env("DEBIAN_FRONTEND", "noninteractive")
            .output()
            .context("unshare cannot be started")
    }

    /// Runs a shell command as root in it, and returns what it printed.
    ///
    /// # Errors
    /// When it does not end with 0; the error carries what it said.
    pub fn stdout_of(&self, command: &str) -> Result<String> {
        text(&self.run(command)?, command)
    }

    /// Runs this machine's rpm on it, which runs the packages' scripts in it.
    ///
    /// # Errors
    /// When it does not end with 0; the error carries what it said.
    pub fn rpm(&self, arguments: &str) -> Result<String> {
        // The database lies where Fedora has it since 36, whatever this machine's rpm is set to.
        let command =
            format!("rpm --root=\"$directory/root\" --dbpath=/usr/lib/sysimage/rpm {arguments}");
        // It opens the packages before it enters the root.
        let bring = "mount --bind \"$directory/host\" /mnt\n";
        text(
            &self.start(&format!("{MOUNT}{bring}{command}"), arguments)?,
            arguments,
        )
    }

    /// Every path of it, and where links lead, beside what dpkg, rpm and ldconfig keep for themselves.
    ///
    /// # Errors
    /// When it cannot be listed.
    pub fn files(&self) -> Result<BTreeSet<String>> {
        let listed = self.stdout_of(
            r"find / -xdev \( -path /mnt -o -path /var/lib/dpkg -o -path /var/log -o -path /usr/lib/sysimage \
              -o -path /var/cache/ldconfig \) -prune -o -printf '%p -> %l\n'",
        )?;
        Ok(listed.lines().map(str::to_owned).collect())
    }
}

fn text(output: &Output, command: &str) -> Result<String> {
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("`{command}`: {}: {stdout}{stderr}", output.status);
    }
    Ok(stdout)
}
