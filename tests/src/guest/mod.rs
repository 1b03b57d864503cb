//! A Debian guest under QEMU, as KubeVirt builds one: NUMA nodes, a NIC behind a root port of a
//! node, the VM mount by virtiofs, vsock. And a small one on an emulated aarch64 machine.

mod aarch64;
mod beside;
mod console;
mod image;
mod interrupts;
mod left;
mod machine;
mod managed;
mod monitor;
mod moved;
mod nodes;
pub mod pinning;
mod topology;
mod witness;

pub use aarch64::{AARCH64, Aarch64Guest, Aarch64Options};
pub use console::GuestOutput;
pub use image::{BakedImage, BaseImage, Boot, add_console};
pub use interrupts::{affinities, function_of, served};
pub use left::{LEFT_MAC, igb_and_left, left_hardware};
pub use machine::{Guest, GuestOptions};
pub use managed::{Addition, Managed, ManagedOptions, Manager, wake};
pub use moved::MovableOptions;
pub use nodes::{GROWING_PCI_ADDRESSES, Machine};
pub use topology::{FOREIGN_MAC, GUEST_CID, NIC_NODE, NIC_PCI_ADDRESS, SHARE_TAG};
pub use witness::{WITNESS, Witness, quoted};
