//! Reports: the status file in the guest, and the lines to the node's relay.

mod conversation;
pub mod device_files;
mod lines;
pub mod relay;
pub mod status;

pub use status::Status;
