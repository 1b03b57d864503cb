//! The attributes of devices on their way from Kubernetes into a VM.
//!
//! - [`Document`]: what `device-attributes.json` holds.
//! - [`read`]: the readers of every input form.
//! - [`report`]: what a guest's agent and the node's relay say to each other.
//! - [`limits`]: the bounds that hold for every input.
//!
//! The crate does no I/O beyond reading a byte slice, a file or a directory that it is handed.

mod attribute;
pub mod document;
mod error;
mod hexadecimal;
mod interface_address;
mod interface_name;
mod keys;
pub mod limits;
mod mac;
mod name;
mod numa;
mod one_line;
mod pci;
pub mod read;
pub mod report;
mod text;

pub use attribute::AttributeValue;
pub use document::{Claim, Device, DeviceIdentity, Document, Guest, Host, Network, Pod};
pub use error::{Position, ReadError, ReadErrorKind, TreeLimit};
pub use hexadecimal::hexadecimal;
pub use interface_address::{InterfaceAddress, InterfaceAddressError};
pub use interface_name::{InterfaceName, InterfaceNameError};
pub use mac::{MacAddress, MacError};
pub use name::{Name, NameError};
pub use numa::{NodeError, NodeId};
pub use one_line::one_line;
pub use pci::{PciAddress, PciError};
