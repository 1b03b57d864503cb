//! Sysctls of interfaces, set through `/proc/sys`.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use crate::netlink::NetlinkError;
use crate::plan::{Ipv6Settings, Sysctl};

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

/// Sets IPv6 of an interface as it was set before the kernel took it away and gave it back.
pub(super) fn set_ipv6(
    proc: &Path,
    interface: &str,
    settings: Ipv6Settings,
) -> Result<(), NetlinkError> {
    let disable = format!("sys/net/ipv6/conf/{interface}/disable_ipv6");
    write(&proc.join(disable), settings.disabled.into())?;
    set(proc, interface, Sysctl::AcceptRa, settings.accept_ra)
}

fn write(path: &Path, to: u32) -> Result<(), NetlinkError> {
    OpenOptions::new()
        .write(true)
        .open(path)
        .and_then(|mut file| file.write_all(format!("{to}\n").as_bytes()))
        .map_err(|error| {
            let attempt = format!("write {to} to {}", path.display());
            NetlinkError::sysctl(&attempt, &error)
        })
}
