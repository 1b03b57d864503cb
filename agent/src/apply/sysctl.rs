//! Sysctls of interfaces, set through `/proc/sys`.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use crate::netlink::NetlinkError;
use crate::plan::Sysctl;

/// Sets a sysctl. It is in the file's path which interface it is for, by name: an interface that was
/// renamed in between is not found, and no other in its place.
pub(super) fn set(
    proc: &Path,
    interface: &str,
    sysctl: Sysctl,
    to: u32,
) -> Result<(), NetlinkError> {
    let path = proc.join(sysctl.path(interface));
    OpenOptions::new()
        .write(true)
        .open(&path)
        .and_then(|mut file| file.write_all(format!("{to}\n").as_bytes()))
        .map_err(|error| {
            let attempt = format!("write {to} to {}", path.display());
            NetlinkError::sysctl(&attempt, &error)
        })
}
