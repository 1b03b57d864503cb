//! Reports: the status file in the guest, and the lines to the node's relay.

pub mod relay;
pub mod status;

pub use status::Status;
