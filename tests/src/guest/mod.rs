//! A Debian guest under QEMU, as KubeVirt builds one: NUMA nodes, a NIC behind a root port of a
//! node, the VM mount by virtiofs, vsock.

mod console;
mod image;
mod left;
mod machine;
mod managed;
mod monitor;
mod moved;
mod topology;

pub use console::GuestOutput;
pub use image::{BakedImage, BaseImage, Boot, add_console};
pub use left::{LEFT_MAC, igb_and_left, left_hardware};
pub use machine::{Guest, GuestOptions};
pub use managed::{Addition, Managed, ManagedOptions, Manager, wake};
pub use moved::MovableOptions;
pub use topology::{FOREIGN_MAC, GUEST_CID, NIC_NODE, NIC_PCI_ADDRESS, SHARE_TAG};
