//! What a relay at work shows of itself: metrics, and whether it is alive and ready.
//!
//! As a log's subscriber, all of it is of the process: whoever has something to count says so in one line, and
//! needs no handle. Nothing here waits for anything, and every set of labels is fixed.

pub mod labels;
pub mod metrics;
pub mod readiness;
mod registry;
pub mod server;
pub mod unsent;
