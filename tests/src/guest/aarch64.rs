//! A small guest on an emulated aarch64 machine: a kernel of Debian's, and an initramfs of busybox to which a test adds
//! what it is about. What it says on its console is all that it does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};
use tempfile::TempDir;

use super::beside::vsock_device;
use crate::command::{made_by, stdout_of};
use crate::process::{Process, tail};
use crate::programs::workspace;
use crate::wait;

/// Rust's name of what the programs are built for.
pub const AARCH64: &str = "aarch64-unknown-linux-musl";
/// The machine is emulated, on a machine that does other things.
const PATIENCE: Duration = Duration::from_mins(10);
/// The last that an `init` says.
const ALL: &str = "the guest has said all";

/// A running machine. Dropping it ends it.
#[derive(Debug)]
pub struct Aarch64Guest {
    // In the order of dropping: QEMU before the program that serves it.
    qemu: Process,
    _vsock: Option<Process>,
    serial: PathBuf,
    _directory: TempDir,
}

/// What the machine is made of.
#[derive(Debug)]
pub struct Aarch64Options<'a> {
    /// A tree of files for its root, which comes over that of `vm-images/aarch64`.
    pub tree: &'a Path,
    /// The first program, in that root. Its last words are to be `the guest has said all`.
    pub init: &'a str,
    /// The host's sockets for connections from the guest: port N arrives at `PATH_N`; none: a guest without vsock.
    pub vsock: Option<&'a Path>,
    /// Further hardware, as arguments of QEMU: words without spaces in them.
    pub hardware: &'a str,
    /// Where the logs of all programs go.
    pub logs: &'a Path,
}

impl Aarch64Guest {
    /// Starts the machine; its kernel comes from the cache, or from Debian.
    ///
    /// # Errors
    /// When the recipe of the kernel fails, or a program is missing or ends at once.
    pub fn start(options: &Aarch64Options<'_>) -> Result<Self> {
        let base = made_by(&mut Command::new(
            workspace().join("vm-images/aarch64/build.sh"),
        ))?;
        // Short paths: a socket's may have 107 bytes.
        let directory = tempfile::Builder::new()
            .prefix("dra-guest-")
            .tempdir_in("/tmp")?;
        let initramfs = directory.path().join("initrd");
        with_tree(&base.join("initrd"), options.tree, &initramfs)?;
        let serial = options.logs.join("serial.log");
        let vsock = options.vsock.map(|host| -> Result<_> {
            let socket = directory.path().join("vsock");
            let device = vsock_device(&socket, host, options.logs)?;
            let hardware = format!(
                "-chardev socket,id=vsock,path={} -device vhost-user-vsock-pci,chardev=vsock",
                socket.display()
            );
            Ok((device, hardware))
        });
        let (vsock, vsock_hardware) = vsock.transpose()?.unzip();
        let line = format!(
            "-nodefaults -no-user-config -no-reboot -display none -machine virt,memory-backend=memory -cpu max \
             -accel tcg,thread=multi -m 512 -smp 2 -object memory-backend-memfd,id=memory,size=512M,share=on \
             -kernel {} -initrd {} -serial file:{} {} {}",
            base.join("vmlinuz").display(),
            initramfs.display(),
            serial.display(),
            options.hardware,
            vsock_hardware.unwrap_or_default(),
        );
        let kernel = format!(
            "console=ttyAMA0 loglevel=4 panic=-1 rdinit={}",
            options.init
        );
        let arguments = line.split_whitespace().chain(["-append", &kernel]);
        let program = Path::new("qemu-system-aarch64");
        Ok(Self {
            qemu: Process::start("qemu", program, arguments, options.logs)?,
            _vsock: vsock,
            serial,
            _directory: directory,
        })
    }

    /// Waits until the guest has said all, and returns it. The machine goes on.
    ///
    /// # Errors
    /// When it ends before, or takes more than ten minutes; the error carries its last words.
    pub fn all_it_says(&mut self) -> Result<String> {
        let said = wait::until(ALL, PATIENCE, || {
            self.qemu.check()?;
            let said = fs::read(&self.serial).unwrap_or_default();
            let said = String::from_utf8_lossy(&said).into_owned();
            Ok(said.contains(ALL).then_some(said))
        })
        .with_context(|| tail(&self.serial, 30))?;
        for line in said.lines().filter(|line| line.starts_with("kernel: ")) {
            println!("  {}", line.trim());
        }
        Ok(said)
    }
}

/// An initramfs, and behind it a second one of a tree of files: the kernel unpacks them one after the other.
fn with_tree(base: &Path, tree: &Path, out: &Path) -> Result<()> {
    let script = "cp \"$1\" \"$2\" && cd \"$3\" && find . | cpio -o -H newc --quiet >>\"$2\"";
    stdout_of(
        Command::new("sh")
            .args(["-c", script, "sh"])
            .args([base, out, tree]),
    )?;
    Ok(())
}
