//! How what serves a device is set: through `/proc/irq`, the queues in sysfs, ethtool and irqbalance.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use device_attributes::PciAddress;
use nix::errno::Errno;

use super::Outcome;
use crate::irqbalance::Irqbalance;
use crate::netlink::{Ethtool, NetlinkError};
use crate::plan::Pin;
use crate::roots::Roots;

/// What came of it.
pub(super) enum Pinned {
    /// As with any step.
    So(Outcome),
    /// The kernel does not let anyone move this interrupt.
    Unmovable(u32),
}

/// Sets it, for the interface of this index and name.
pub(super) fn set(
    roots: &Roots,
    interface: u32,
    name: &str,
    pin: &Pin,
) -> Result<Pinned, NetlinkError> {
    let file = match pin {
        Pin::Channels { to, .. } => {
            let attempt = "speak to the kernel's ethtool";
            let mut ethtool = Ethtool::open().ok_or_else(|| gone(attempt, "ethtool netlink"))?;
            ethtool.set_combined(interface, *to)?;
            return Ok(Pinned::So(Outcome::Changed));
        }
        Pin::Irqbalance {
            interrupts, leaves, ..
        } => return tell(roots, interrupts, *leaves).map(Pinned::So),
        Pin::Interrupt {
            function,
            interrupt,
            to,
            ..
        } => {
            let path = affinity(roots, *function, *interrupt)?;
            return match write(&path, &to.to_string()) {
                // EIO before Linux 6.9.
                Err(error) if matches!(error.errno(), Some(Errno::EIO | Errno::EPERM)) => {
                    Ok(Pinned::Unmovable(*interrupt))
                }
                other => other.map(|()| Pinned::So(Outcome::Changed)),
            };
        }
        Pin::Transmit { queue, to, .. } => (format!("tx-{queue}/xps_cpus"), to.mask()),
        Pin::Receive { queue, to, .. } => (format!("rx-{queue}/rps_cpus"), to.mask()),
        Pin::Flows { queue, to, .. } => (format!("rx-{queue}/rps_flow_cnt"), to.to_string()),
    };
    let (file, value) = file;
    // By name: an interface that was renamed in between is not found, and no other in its place.
    let queues = roots.sys.join("class/net").join(name).join("queues");
    write(&queues.join(file), &value)?;
    Ok(Pinned::So(Outcome::Changed))
}

/// The interrupt's file, as long as it is that function's: numbers are given to other devices.
fn affinity(roots: &Roots, function: PciAddress, interrupt: u32) -> Result<PathBuf, NetlinkError> {
    let device = (roots.sys.join("bus/pci/devices")).join(function.to_string());
    let number = interrupt.to_string();
    let is_its_own = device.join("msi_irqs").join(&number).exists()
        || std::fs::read_to_string(device.join("irq")).is_ok_and(|text| text.trim() == number);
    if !is_its_own {
        let attempt = format!("set the CPUs of interrupt {number}");
        return Err(NetlinkError::refused(&attempt, Errno::ENOENT));
    }
    Ok(roots
        .proc
        .join("irq")
        .join(number)
        .join("smp_affinity_list"))
}

/// With its own list, and what others have put there.
fn tell(roots: &Roots, interrupts: &[u32], leaves: bool) -> Result<Outcome, NetlinkError> {
    // One that runs no more moves nothing.
    let Some(irqbalance) = Irqbalance::find(&roots.run) else {
        return Ok(Outcome::AlreadySo);
    };
    let those: BTreeSet<u32> = interrupts.iter().copied().collect();
    let banned = if leaves {
        &irqbalance.banned | &those
    } else {
        &irqbalance.banned - &those
    };
    if banned == irqbalance.banned {
        return Ok(Outcome::AlreadySo);
    }
    let attempt = "tell irqbalance which interrupts to leave alone";
    let told = irqbalance.ban(&banned);
    told.map_err(|error| NetlinkError::sysctl(attempt, &error))?;
    Ok(Outcome::Changed)
}

fn gone(attempt: &str, what: &str) -> NetlinkError {
    let error = io::Error::new(io::ErrorKind::NotFound, format!("the kernel has no {what}"));
    NetlinkError::sysctl(attempt, &error)
}

fn write(path: &Path, value: &str) -> Result<(), NetlinkError> {
    OpenOptions::new()
        .write(true)
        .open(path)
        .and_then(|mut file| file.write_all(format!("{value}\n").as_bytes()))
        .map_err(|error| {
            let attempt = format!("write {value} to {}", path.display());
            NetlinkError::sysctl(&attempt, &error)
        })
}

#[cfg(test)]
mod tests;
