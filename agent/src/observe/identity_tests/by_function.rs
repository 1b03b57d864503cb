//! Interfaces told by their PCI function, and functions without an interface.

use super::*;

/// The PCI function stands above a virtio device; one on a bus of another kind has none of its own.
// ghw#372, hwloc#354, pciutils#184 (case 25); Linux `drivers/virtio/virtio.c` (case 27).
#[test]
fn the_function_is_the_parent_or_that_of_the_virtio_device() {
    let domain = "pci0000:00/0000:00:0e.0/pci10001:e0/10001:e0:06.0/10001:e1:00.0";
    for (on, address) in [
        (E1, "0000:81:00.0"),
        ("pci0000:00/0000:00:03.0/virtio2", "0000:00:03.0"),
        (domain, "10001:e1:00.0"),
    ] {
        holds(&row(
            "by address",
            [nic("eth0", on, &A)],
            None,
            Some(address),
            Ok("eth0"),
        ));
    }
    // Whatever is further up has other devices.
    let none = |part| Err((Reason::DeviceNotFound, part));
    for (on, address, found) in [
        (
            "pci0000:00/0000:00:14.0/usb1/1-1/1-1:1.0",
            "0000:00:14.0",
            "bound to xhci_hcd",
        ),
        (
            "pci0000:00/0000:08:00.0/mlx5_core.sf.4",
            "0000:08:00.0",
            "bound to mlx5_core",
        ),
        (domain, "0000:e1:00.0", "no PCI function 0000:e1:00.0"),
        (domain, "0000:00:0e.0", "no PCI function 0000:00:0e.0"),
        (
            "platform/a003e00.virtio_mmio/virtio1",
            "0000:00:03.0",
            "no PCI function",
        ),
        (
            "css0/0.0.0001/0.0.0002/virtio0",
            "0000:00:03.0",
            "no PCI function",
        ),
    ] {
        let nics = [nic("eth0", on, &A)];
        holds(&row("above", nics, None, Some(address), none(found)));
        // The MAC finds it on every bus, and where the host side was wrong about the address.
        holds(&row("by MAC", nics, Some(MAC_A), None, Ok("eth0")));
        holds(&row("by MAC", nics, Some(MAC_A), Some(address), Ok("eth0")));
    }
}

/// kubernetes-sigs/dranet@a35e2dd (case 29): a function without an interface is told apart from one that
/// is not there, and is no reason to wait.
#[test]
fn a_function_without_an_interface_says_why() {
    let others = [nic("eth0", E1, &B)];
    for (address, part) in [
        (
            "0000:91:00.0",
            "is bound to vfio-pci and has no network interface",
        ),
        ("0000:92:00.0", "is there, but no driver is bound to it"),
        ("0000:93:00.0", "the guest has no PCI function 0000:93:00.0"),
    ] {
        let problem = Err((Reason::DeviceNotFound, part));
        holds(&row("no interface", others, None, Some(address), problem));
    }
}
