//! A guest whose system boots anew, whose state is saved and goes on elsewhere, or whose share dies.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};
use device_attributes::MacAddress;
use serde_json::{Value, json};

use super::console::Console;
use super::image::BakedImage;
use super::machine::{BOOT, Guest, MONITOR};
use super::nodes::Machine;
use super::topology::{self, Firmware, Sockets};
use crate::process::Process;
use crate::wait;

/// What a guest is made of that can be moved to another QEMU: it has nothing beside it on the node, neither a VM mount
/// nor vsock, whose programs cannot be moved.
#[derive(Debug)]
pub struct MovableOptions<'a> {
    /// Its disk.
    pub image: &'a BakedImage,
    /// The MAC address of the NIC on node 1.
    pub nic: MacAddress,
    /// A file for fw_cfg's `opt/org.kubevirt/device-attributes`. It does not move: each QEMU has its own.
    pub fw_cfg: &'a Path,
    /// The state to go on from, as [`Guest::save`] wrote it; none: a boot.
    pub from: Option<&'a Path>,
    /// Where the logs of all programs go.
    pub logs: &'a Path,
}

impl Guest {
    /// Starts a machine that can be moved, or goes on with one that was.
    ///
    /// # Errors
    /// When QEMU is missing or ends at once.
    pub fn start_movable(options: &MovableOptions<'_>) -> Result<Self> {
        let sockets = tempfile::Builder::new()
            .prefix("dra-guest-")
            .tempdir_in("/tmp")?;
        let console_socket = sockets.path().join("console");
        let monitor_socket = sockets.path().join(MONITOR);
        let serial = options.logs.join("serial.log");
        let arguments = topology::arguments(
            options.image,
            Machine::TwoNodes,
            options.nic,
            &Sockets {
                share: None,
                vsock: None,
                console: &console_socket,
                monitor: &monitor_socket,
            },
            &Firmware {
                fw_cfg: Some(options.fw_cfg),
                smbios: None,
            },
            &options
                .from
                .map(|state| format!("-incoming file:{}", state.display()))
                .unwrap_or_default(),
            &serial,
        );
        let program = Path::new("qemu-system-x86_64");
        let mut qemu = Process::start("qemu", program, arguments, options.logs)?;
        qemu.wait_for_file(&console_socket)?;
        let mut guest = Self {
            console: Console::connect(&console_socket)?,
            qemu,
            share: None,
            _vsock: None,
            serial,
            sockets,
        };
        if options.from.is_some() {
            guest.go_on()?;
        }
        Ok(guest)
    }

    /// Lets a machine go on once its state is read: it is as it was saved, stopped.
    fn go_on(&mut self) -> Result<()> {
        wait::until("QEMU has read the state", BOOT, || {
            let answer = self.tell_qemu(&json!({"execute": "query-status"}))?;
            let status = answer.get("status").and_then(Value::as_str);
            Ok((status == Some("paused")).then_some(()))
        })?;
        self.tell_qemu(&json!({"execute": "cont"}))?;
        Ok(())
    }

    /// Stops the machine and writes its state, for [`MovableOptions::from`]. The disk is not in it: what was written
    /// to it since the boot is lost.
    ///
    /// # Errors
    /// When QEMU cannot, as with programs beside it that cannot be moved.
    pub fn save(&mut self, state: &Path) -> Result<()> {
        let uri = format!("file:{}", state.display());
        self.tell_qemu(&json!({"execute": "stop"}))?;
        self.tell_qemu(&json!({"execute": "migrate", "arguments": {"uri": uri}}))?;
        wait::until("QEMU has written the state", BOOT, || {
            let answer = self.tell_qemu(&json!({"execute": "query-migrate"}))?;
            match answer.get("status").and_then(Value::as_str) {
                Some("completed") => Ok(Some(())),
                Some("failed" | "cancelled") => bail!("QEMU does not write the state: {answer}"),
                _ => Ok(None),
            }
        })
    }

    /// Boots the guest's system anew; what is on its disk stays. Returns as [`Guest::wait_until_up`].
    ///
    /// # Errors
    /// When it does not come up in ten minutes.
    pub fn reboot(&mut self) -> Result<String> {
        const BOOT_ID: &str = "cat /proc/sys/kernel/random/boot_id";
        let before = self.stdout_of(BOOT_ID)?;
        self.stdout_of("systemctl --no-block reboot")?;
        // What is sent while the system goes down is lost.
        wait::until("the guest boots anew", BOOT, || {
            let answer = self.console.run(BOOT_ID, Duration::from_secs(3));
            self.qemu.check()?;
            Ok(answer
                .is_ok_and(|output| output.code == 0 && output.stdout != before)
                .then_some(()))
        })?;
        self.wait_until_up()
    }

    /// Kills the program that serves the VM mount: the share is there for the guest, and nobody answers.
    pub fn kill_share(&mut self) {
        self.share = None;
    }
}
