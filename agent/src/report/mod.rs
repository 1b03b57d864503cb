//! Reports: the status file in the guest, and the lines to the node's relay.

mod choice;
mod conversation;
pub mod device_files;
mod device_status;
mod lines;
pub mod relay;
pub mod status;
mod whereabouts;

pub use choice::{ChoiceError, choose};
pub use device_status::{DeviceStatus, LocalityStatus};
pub use status::Status;
pub use whereabouts::{Places, Whereabouts};
