//! Sysctls of interfaces, set through `/proc/sys`.

use std::fmt::Display;
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
    write(&proc.join(sysctl.path(interface)), to)
}

/// Writes a value, which is what was read of that file or a number.
pub(super) fn write(path: &Path, to: impl Display) -> Result<(), NetlinkError> {
    OpenOptions::new()
        .write(true)
        .open(path)
        .and_then(|mut file| file.write_all(format!("{to}\n").as_bytes()))
        .map_err(|error| {
            let attempt = format!("write {to} to {}", path.display());
            NetlinkError::sysctl(&attempt, &error)
        })
}
