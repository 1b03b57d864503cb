//! The guest's disk: the Debian base, and copies of it with the agent baked in.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use tempfile::TempDir;

use crate::command::{made_by, stdout_of};
use crate::programs::workspace;

/// The Debian guest without the agent: a kernel, an initramfs and a root disk in the cache.
#[derive(Debug, Clone)]
pub struct BaseImage {
    directory: PathBuf,
}

/// What starts the system on a disk.
#[derive(Debug, Clone)]
pub enum Boot {
    /// QEMU, with this kernel and initramfs.
    Kernel {
        /// The kernel.
        kernel: PathBuf,
        /// The initramfs.
        initramfs: PathBuf,
    },
    /// The disk's own boot loader, which this UEFI firmware finds.
    Firmware(PathBuf),
}

impl BaseImage {
    /// Finds it in the cache, or builds it, which takes two minutes.
    ///
    /// # Errors
    /// When the recipe fails; its own words are on standard error.
    pub fn get() -> Result<Self> {
        let recipe = workspace().join("vm-images/debian/build.sh");
        let directory = made_by(&mut Command::new(recipe))?;
        Ok(Self { directory })
    }

    /// Another than the cache's, with the same three files: `root.img`, `vmlinuz` and `initrd`.
    pub fn at(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Bakes in the agent as a package installs it, the policy of the image's owner if there is
    /// one, and the test's own way to run commands.
    ///
    /// # Errors
    /// When a file cannot be laid out or does not get into the image.
    pub fn bake(&self, agent: &Path, policy: Option<&str>) -> Result<BakedImage> {
        self.bake_with(agent, policy, |_| Ok(()))
    }

    /// As [`BaseImage::bake`], with what `add` lays out in the tree of files.
    ///
    /// # Errors
    /// As [`BaseImage::bake`].
    pub fn bake_with(
        &self,
        agent: &Path,
        policy: Option<&str>,
        add: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<BakedImage> {
        let scratch = tempfile::Builder::new()
            .prefix("dra-guest-image-")
            .tempdir()?;
        let tree = scratch.path().join("tree");
        fs::create_dir(&tree)?;
        let recipes = workspace().join("vm-images");
        stdout_of(
            Command::new(recipes.join("agent-tree.sh"))
                .arg(agent)
                .arg(&tree),
        )?;
        if let Some(policy) = policy {
            write(&tree, "etc/dra-guest/agent.toml", policy)?;
        }
        add_console(&tree)?;
        add(&tree)?;
        let image = scratch.path().join("root.img");
        stdout_of(
            Command::new(recipes.join("bake.sh"))
                .arg(self.directory.join("root.img"))
                .arg(&tree)
                .arg(&image),
        )?;
        fs::remove_dir_all(&tree)?;
        Ok(BakedImage {
            boot: Boot::Kernel {
                kernel: self.directory.join("vmlinuz"),
                initramfs: self.directory.join("initrd"),
            },
            image,
            kernel_options: String::new(),
            _directory: scratch,
        })
    }
}

/// A disk with the agent, and what starts it. It is removed when dropped: making it takes a fifth of a second.
#[derive(Debug)]
pub struct BakedImage {
    /// What starts it.
    pub boot: Boot,
    /// The disk.
    pub image: PathBuf,
    /// What the kernel is told beside the usual, where QEMU starts it.
    pub kernel_options: String,
    _directory: TempDir,
}

impl BakedImage {
    /// A disk that others made, in a directory that goes with this.
    pub fn of_others(image: PathBuf, boot: Boot, directory: TempDir) -> Self {
        Self {
            boot,
            image,
            kernel_options: String::new(),
            _directory: directory,
        }
    }
}

/// The service that runs the test's commands, in the tree of files of an image; no image but the test's has it.
///
/// # Errors
/// When a file cannot be laid out.
pub fn add_console(tree: &Path) -> Result<()> {
    write(
        tree,
        "usr/libexec/dra-guest-test-console",
        include_str!("console.sh"),
    )?;
    let unit = "usr/lib/systemd/system/dra-guest-test-console.service";
    write(tree, unit, include_str!("console.service"))?;
    // A machine that does other things may take longer than systemd waits for a device.
    let device = "dev-virtio\\x2dports-org.dra\\x2dguest.test.device";
    write(
        tree,
        &format!("etc/systemd/system/{device}.d/patience.conf"),
        "[Unit]\nJobRunningTimeoutSec=10min\n",
    )?;
    let wants = tree.join("etc/systemd/system/multi-user.target.wants");
    fs::create_dir_all(&wants)?;
    symlink(
        Path::new("/").join(unit),
        wants.join("dra-guest-test-console.service"),
    )?;
    Ok(())
}

pub(super) fn write(tree: &Path, path: &str, text: &str) -> Result<()> {
    let path = tree.join(path);
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    fs::write(&path, text).with_context(|| format!("{} is not written", path.display()))
}
