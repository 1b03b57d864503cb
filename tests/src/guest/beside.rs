//! The programs beside a guest.

use std::path::Path;

use anyhow::Result;

use super::topology::GUEST_CID;
use crate::cache;
use crate::process::Process;

/// Starts the device of a guest's vsock, of [`GUEST_CID`], whose QEMU finds it at `socket`. What the guest sends to
/// port N of the host arrives at `PATH_N`, PATH being `host`.
///
/// # Errors
/// When the program is missing or ends at once.
pub(super) fn vsock_device(socket: &Path, host: &Path, logs: &Path) -> Result<Process> {
    let mut device = Process::start(
        "vhost-device-vsock",
        &cache::tool("vhost-device-vsock")?,
        [
            "--vm".to_owned(),
            format!(
                "guest-cid={GUEST_CID},socket={},uds-path={}",
                socket.display(),
                host.display()
            ),
        ],
        logs,
    )?;
    device.wait_for_file(socket)?;
    Ok(device)
}
