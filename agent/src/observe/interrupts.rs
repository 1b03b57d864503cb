//! The interrupts of a PCI function, as sysfs and procfs show them
//! (`Documentation/ABI/testing/sysfs-bus-pci`, `Documentation/core-api/irq/irq-affinity.rst`).
//!
//! By the function's own directory: a virtio NIC's interrupts are called `virtio2-input.0`, and not by
//! the NIC's name.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use device_attributes::PciAddress;

use super::pinning::{Fixed, Interrupt, Vectors, number};
use super::sysfs;
use crate::numa::CpuList;
use crate::roots::Roots;
use crate::small_file;

/// The most interrupts of one function: what MSI-X has (PCI Express Base Specification, 7.7.2).
const VECTORS: usize = 2048;

/// Looks at one function. What cannot be read is not known.
pub(super) fn look(roots: &Roots, address: PciAddress) -> Vectors {
    let directory = sysfs::directory(&roots.sys, address);
    let mut numbers = message_signalled(&directory);
    if numbers.is_empty() {
        // A pin of the slot. 0 is none.
        numbers.extend(number(&directory.join("irq")).filter(|number| *number != 0));
    }
    Vectors {
        local_cpus: list(&directory.join("local_cpulist")),
        interrupts: numbers
            .into_iter()
            .filter_map(|number| interrupt(&roots.proc, number))
            .collect(),
    }
}

fn message_signalled(directory: &Path) -> Vec<u32> {
    let Ok(entries) = directory.join("msi_irqs").read_dir() else {
        return Vec::new();
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let numbers = names.filter_map(|name| name.parse().ok());
    let mut numbers: Vec<u32> = numbers.take(VECTORS).collect();
    numbers.sort_unstable();
    numbers
}

/// An interrupt; none where procfs does not have it.
fn interrupt(proc: &Path, number: u32) -> Option<Interrupt> {
    let directory = proc.join("irq").join(number.to_string());
    let affinity = directory.join("smp_affinity_list");
    let cpus = list(&affinity)?;
    let handlers = handlers(&directory);
    let is_read_only = affinity
        .metadata()
        .is_ok_and(|file| file.permissions().mode() & 0o222 == 0);
    let fixed = match handlers.len() {
        _ if is_read_only => Some(Fixed::Managed),
        0 | 1 => None,
        _ => Some(Fixed::Shared),
    };
    Some(Interrupt {
        number,
        cpus,
        serving: list(&directory.join("effective_affinity_list")).unwrap_or_default(),
        queue: handlers.first().and_then(|name| queue(name)),
        fixed,
    })
}

/// The names of those who serve it, each a directory.
fn handlers(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let directories = entries.filter_map(|entry| {
        let entry = entry.ok()?;
        let is_directory = entry.file_type().ok()?.is_dir();
        is_directory.then(|| entry.file_name().to_string_lossy().into_owned())
    });
    directories.take(VECTORS).collect()
}

/// The number of the queue in a name: `virtio2-input.1`, `net1-TxRx-1`, `mlx5_comp1@pci:0000:81:00.0`.
/// Not that of `net1`, which is the device's own.
fn queue(name: &str) -> Option<u32> {
    let name = name.split('@').next()?;
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_queue = stem.ends_with(['-', '.']) || stem.ends_with("_comp");
    name.get(stem.len()..)?.parse().ok().filter(|_| is_queue)
}

fn list(path: &Path) -> Option<CpuList> {
    let bytes = small_file::read(path).ok()?;
    std::str::from_utf8(&bytes).ok()?.parse().ok()
}

#[cfg(test)]
mod tests;
