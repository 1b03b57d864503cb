//! Reports: the status file in the guest, and the lines to the node's relay.

mod conversation;
mod lines;
pub mod relay;
pub mod status;

pub use status::Status;
