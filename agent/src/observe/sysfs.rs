//! What sysfs says of PCI functions. What cannot be read is not known, which is no error: sysfs may
//! be masked, and devices go away while one looks.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use device_attributes::{NodeId, PciAddress};

use super::PciFunction;
use crate::small_file;

/// The directory of PCI functions by address, in the sysfs at `sys`.
pub(super) fn directory(sys: &Path, address: PciAddress) -> PathBuf {
    let mut path = sys.join("bus/pci/devices");
    path.push(address.to_string());
    path
}

/// The function that an interface sits on, from where its link in `/sys/class/net` points to.
///
/// The component above `net` is the interface's parent: the function itself or a virtio device on
/// one. Anything else (USB, an auxiliary device) has a function further up that it does not own.
pub(super) fn pci_address(sys: &Path, interface: &str) -> Option<PciAddress> {
    let mut path = sys.join("class/net");
    path.push(interface);
    let target = fs::read_link(path).ok()?;
    let mut ancestors = target.parent()?.parent()?.ancestors().map(|ancestor| {
        let name = ancestor.file_name();
        name.and_then(|name| name.to_str()).unwrap_or_default()
    });
    let parent = ancestors.next()?;
    if parent.starts_with("virtio") {
        return ancestors.next()?.parse().ok();
    }
    parent.parse().ok()
}

/// The NUMA node of a function: absent when the kernel says -1 or has no such file.
pub(super) fn numa_node(sys: &Path, address: PciAddress) -> Option<NodeId> {
    read_numa_node(&directory(sys, address)).ok().flatten()
}

fn read_numa_node(directory: &Path) -> io::Result<Option<NodeId>> {
    let bytes = small_file::read(&directory.join("numa_node"))?;
    let node = std::str::from_utf8(&bytes)
        .ok()
        .and_then(|text| text.trim().parse::<i64>().ok())
        .and_then(|number| NodeId::try_from(number).ok());
    Ok(node)
}

/// A function by its address; absent when the guest does not have it.
pub(super) fn function(sys: &Path, address: PciAddress) -> Option<PciFunction> {
    let directory = directory(sys, address);
    let driver = fs::read_link(directory.join("driver"));
    let numa_node = read_numa_node(&directory);
    // An unbound function has no driver link, a kernel without NUMA no node: only where both are
    // missing is it open whether there is a function at all.
    let missing =
        |error: Option<&io::Error>| error.map(io::Error::kind) == Some(ErrorKind::NotFound);
    if missing(driver.as_ref().err()) && missing(numa_node.as_ref().err()) && !directory.is_dir() {
        return None;
    }
    Some(PciFunction {
        driver: driver
            .ok()
            .and_then(|target| Some(target.file_name()?.to_string_lossy().into_owned())),
        numa_node: numa_node.ok().flatten(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use tempfile::TempDir;

    /// A sysfs with one interface whose class link points to `devices/<parent>/net/<name>`.
    fn with_interface(parent: &str) -> TempDir {
        let sys = tempfile::tempdir().unwrap();
        fs::create_dir_all(sys.path().join("class/net")).unwrap();
        symlink(
            format!("../../devices/{parent}/net/eth0"),
            sys.path().join("class/net/eth0"),
        )
        .unwrap();
        sys
    }

    fn with_function(address: &str) -> (TempDir, PathBuf) {
        let sys = tempfile::tempdir().unwrap();
        let directory = sys.path().join("bus/pci/devices").join(address);
        fs::create_dir_all(&directory).unwrap();
        (sys, directory)
    }

    // Linux `drivers/virtio/virtio.c` (case 27).
    #[test]
    fn an_interface_sits_on_its_function_directly_or_through_virtio() {
        for (parent, address) in [
            ("pci0000:80/0000:80:00.0/0000:81:00.0", Some("0000:81:00.0")),
            ("pci0000:00/0000:00:03.0/virtio2", Some("0000:00:03.0")),
            (
                "pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:06.0/10000:e1:00.0",
                Some("10000:e1:00.0"),
            ),
            // A USB adapter is not the host controller, nor a subfunction its parent function.
            ("pci0000:00/0000:00:14.0/usb1/1-1/1-1:1.0", None),
            ("pci0000:00/0000:08:00.0/mlx5_core.sf.4", None),
            ("css0/0.0.0001/0.0.0002/virtio0", None),
            ("platform/a003e00.virtio_mmio/virtio1", None),
            ("virtual", None),
        ] {
            let sys = with_interface(parent);
            assert_eq!(
                pci_address(sys.path(), "eth0"),
                address.map(|text| text.parse().unwrap()),
                "{parent}"
            );
        }
    }

    #[test]
    fn what_cannot_be_read_is_not_known() {
        let sys = tempfile::tempdir().unwrap();
        let address = "0000:81:00.0".parse().unwrap();
        assert_eq!(pci_address(sys.path(), "eth0"), None);
        assert_eq!(pci_address(sys.path(), "\u{fffd}"), None);
        assert_eq!(numa_node(sys.path(), address), None);
        assert_eq!(function(sys.path(), address), None);
        let nowhere = Path::new("/proc/self/cmdline");
        assert_eq!(pci_address(nowhere, "eth0"), None);
    }

    #[test]
    fn a_numa_node_is_a_number_that_is_not_negative() {
        let (sys, directory) = with_function("10000:e1:00.0");
        let address = "10000:e1:00.0".parse().unwrap();
        for (content, node) in [
            ("1\n", Some(1)),
            ("0\n", Some(0)),
            ("-1\n", None),
            ("", None),
            ("1024\n", None),
            ("x\n", None),
            ("99999999999999999999\n", None),
        ] {
            fs::write(directory.join("numa_node"), content).unwrap();
            let node = node.map(|number: i64| NodeId::try_from(number).unwrap());
            assert_eq!(numa_node(sys.path(), address), node, "{content:?}");
        }
    }

    #[test]
    fn a_function_is_there_when_anything_of_it_is() {
        let (sys, directory) = with_function("0000:81:00.0");
        let address = "0000:81:00.0".parse().unwrap();
        // Unbound, on a kernel without NUMA.
        assert_eq!(function(sys.path(), address), Some(PciFunction::default()));
        fs::write(directory.join("numa_node"), "1\n").unwrap();
        symlink(
            "../../../../bus/pci/drivers/vfio-pci",
            directory.join("driver"),
        )
        .unwrap();
        assert_eq!(
            function(sys.path(), address),
            Some(PciFunction {
                driver: Some("vfio-pci".into()),
                numa_node: Some(NodeId::try_from(1).unwrap()),
            })
        );
        assert_eq!(function(sys.path(), "0000:81:00.1".parse().unwrap()), None);
    }
}
