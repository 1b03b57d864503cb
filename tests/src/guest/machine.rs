//! A running guest and the programs beside it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use device_attributes::MacAddress;
use serde_json::Value;
use tempfile::TempDir;

use super::beside::vsock_device;
use super::console::{Console, GuestOutput, TOOK_LONG};
use super::image::BakedImage;
use super::monitor;
use super::nodes::Machine;
use super::topology::{self, Firmware, Sockets};
use crate::cache;
use crate::process::{Process, tail};
use crate::wait;

/// How long a boot may take; it takes 20 s on two idle cores, and minutes on a machine that does other things.
pub(super) const BOOT: Duration = Duration::from_mins(10);
/// How often QEMU is started where it ends by an assertion of its own.
const ABORTS: usize = 3;
/// How long a command may take; the guest itself ends it after two minutes.
const COMMAND: Duration = Duration::from_secs(150);

/// QEMU's own socket, in the directory of the sockets.
pub(super) const MONITOR: &str = "monitor";

/// What a guest is made of.
#[derive(Debug)]
pub struct GuestOptions<'a> {
    /// Its disk.
    pub image: &'a BakedImage,
    /// The MAC address of the NIC on node 1.
    pub nic: MacAddress,
    /// The node's directory that becomes the VM mount; none: a guest without a share.
    pub share: Option<&'a Path>,
    /// The node's sockets for connections from the guest: port N arrives at `PATH_N`.
    pub vsock: &'a Path,
    /// A file for fw_cfg's `opt/org.kubevirt/device-attributes`.
    pub fw_cfg: Option<&'a Path>,
    /// A file with one SMBIOS OEM string, where systemd looks for credentials.
    pub smbios: Option<&'a Path>,
    /// Its CPUs and memory.
    pub machine: Machine,
    /// Further hardware, as arguments of QEMU: words without spaces in them.
    pub hardware: &'a str,
    /// Where the logs of all programs go.
    pub logs: &'a Path,
}

impl<'a> GuestOptions<'a> {
    /// A guest that is told nothing, with a NIC and sockets.
    pub fn bare(image: &'a BakedImage, nic: MacAddress, vsock: &'a Path, logs: &'a Path) -> Self {
        Self {
            image,
            nic,
            share: None,
            vsock,
            fw_cfg: None,
            smbios: None,
            machine: Machine::TwoNodes,
            hardware: "",
            logs,
        }
    }
}

/// A running guest. Dropping it ends everything.
#[derive(Debug)]
pub struct Guest {
    // In the order of dropping: QEMU before the programs that serve it.
    pub(super) console: Console,
    pub(super) qemu: Process,
    pub(super) share: Option<Process>,
    pub(super) _vsock: Option<Process>,
    pub(super) serial: PathBuf,
    pub(super) sockets: TempDir,
}

impl Guest {
    /// Starts the machine. It is not up yet: see [`Guest::wait_until_up`].
    ///
    /// # Errors
    /// When a program is missing or ends at once.
    pub fn start(options: &GuestOptions<'_>) -> Result<Self> {
        // Short paths: a socket's may have 107 bytes.
        let sockets = tempfile::Builder::new()
            .prefix("dra-guest-")
            .tempdir_in("/tmp")?;
        let socket = |name: &str| sockets.path().join(name);
        let logs = options.logs;

        let share = options.share.map(|directory| -> Result<Process> {
            let path = socket("share");
            let mut process = Process::start(
                "virtiofsd",
                &cache::tool("virtiofsd")?,
                [
                    format!("--socket-path={}", path.display()),
                    format!("--shared-dir={}", directory.display()),
                    "--sandbox=none".to_owned(),
                    "--readonly".to_owned(),
                    "--cache=auto".to_owned(),
                ],
                logs,
            )?;
            process.wait_for_file(&path)?;
            Ok(process)
        });
        let share = share.transpose()?;

        let vsock_socket = socket("vsock");
        let vsock = vsock_device(&vsock_socket, options.vsock, logs)?;

        let serial = logs.join("serial.log");
        let console_socket = socket("console");
        let share_socket = socket("share");
        let monitor_socket = socket(MONITOR);
        let arguments = topology::arguments(
            options.image,
            options.machine,
            options.nic,
            &Sockets {
                share: share.is_some().then_some(share_socket.as_path()),
                vsock: Some(&vsock_socket),
                console: &console_socket,
                monitor: &monitor_socket,
            },
            &Firmware {
                fw_cfg: options.fw_cfg,
                smbios: options.smbios,
            },
            options.hardware,
            &serial,
        );
        let mut qemu = Process::start("qemu", Path::new("qemu-system-x86_64"), arguments, logs)?;
        qemu.wait_for_file(&console_socket)?;
        Ok(Self {
            console: Console::connect(&console_socket)?,
            qemu,
            share,
            _vsock: Some(vsock),
            serial,
            sockets,
        })
    }

    /// Starts a guest and waits until it is up; systemd's word for the boot comes with it. Once more where an assertion
    /// of QEMU's own fails, as `iotlb_to_section` of `system/physmem.c` does in one of many boots without hardware
    /// virtualisation: nothing of a boot is left on the disk.
    ///
    /// # Errors
    /// As [`Self::start`] and [`Self::wait_until_up`]; the error says where the logs are.
    pub fn boot(options: &GuestOptions<'_>) -> Result<(Self, String)> {
        for _ in 0..ABORTS {
            let mut guest = Self::start(options)?;
            match guest.wait_until_up() {
                Ok(state) => return Ok((guest, state)),
                Err(error) if guest.qemu.has_aborted()? => {
                    eprintln!("QEMU aborted, and is started once more: {error:#}");
                }
                Err(error) => {
                    return Err(
                        error.context(format!("the logs are in {}", options.logs.display()))
                    );
                }
            }
        }
        bail!("QEMU aborted {ABORTS} times in a row while the guest booted")
    }

    /// Waits until systemd says that the boot is over, and returns its word for the outcome:
    /// `running` when no unit failed, else `degraded`.
    ///
    /// # Errors
    /// When the guest does not come up in ten minutes.
    pub fn wait_until_up(&mut self) -> Result<String> {
        let serial = self.serial.clone();
        self.state_of_boot().with_context(|| {
            format!(
                "the guest did not come up; its console {} ends with:\n{}",
                serial.display(),
                tail(&serial, 15)
            )
        })
    }

    fn state_of_boot(&mut self) -> Result<String> {
        let start = Instant::now();
        // UEFI firmware reads from the port too: what is sent before the guest listens may be lost.
        wait::until("the guest answers", BOOT, || {
            let answer = self.console.run("true", Duration::from_secs(10));
            self.qemu.check()?;
            Ok(answer.ok())
        })?;
        loop {
            let output = self.answer("systemctl is-system-running --wait", BOOT)?;
            // The guest ends a command that takes long, whose machine may be slow.
            if output.code != TOOK_LONG || start.elapsed() > BOOT {
                return Ok(output.stdout.trim().to_owned());
            }
        }
    }

    /// Holds that no unit has failed and that `state`, systemd's word for the boot, is `running`.
    ///
    /// # Errors
    /// When a unit has; the error names it.
    pub fn expect_clean_boot(&mut self, state: &str) -> Result<()> {
        let failed = self.stdout_of("systemctl --failed --plain --no-legend")?;
        ensure!(failed.trim().is_empty(), "failed units:\n{failed}");
        ensure!(state == "running", "systemd says `{state}`");
        Ok(())
    }

    /// Runs a shell command as root in the guest.
    ///
    /// # Errors
    /// When the guest does not answer. A command that fails is an outcome.
    pub fn run(&mut self, command: &str) -> Result<GuestOutput> {
        self.answer(command, COMMAND)
    }

    /// Runs a shell command as root in the guest, and returns what it printed.
    ///
    /// # Errors
    /// When it does not end with 0; the error carries what it said.
    pub fn stdout_of(&mut self, command: &str) -> Result<String> {
        let output = self.run(command)?;
        if output.code != 0 {
            bail!(
                "in the guest, `{command}` ended with {}: {}{}",
                output.code,
                output.stdout,
                output.stderr
            );
        }
        Ok(output.stdout)
    }

    /// Tells QEMU to do something (`qemu-qmp-ref(7)`), waits until it has, and gives back what it returns.
    ///
    /// # Errors
    /// With QEMU's own words, when it does not do it.
    pub fn tell_qemu(&mut self, command: &Value) -> Result<Value> {
        monitor::tell(&self.sockets.path().join(MONITOR), command)
    }

    /// The time that QEMU's threads have had on this machine's processors (`/proc/PID/task/TID/schedstat`): without hardware
    /// virtualisation the guest's work, whatever else the machine does.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn processor_time(&self) -> Result<Duration> {
        let mut all = 0;
        for thread in fs::read_dir(format!("/proc/{}/task", self.qemu.id()))? {
            // A thread may end meanwhile.
            let Ok(text) = fs::read_to_string(thread?.path().join("schedstat")) else {
                continue;
            };
            let first = text.split_whitespace().next();
            all += first.context("an empty schedstat")?.parse::<u64>()?;
        }
        Ok(Duration::from_nanos(all))
    }

    fn answer(&mut self, command: &str, limit: Duration) -> Result<GuestOutput> {
        let output = self.console.run(command, limit);
        if output.is_err() {
            // QEMU's own words, where it is the cause.
            self.qemu.check()?;
        }
        output
    }
}
