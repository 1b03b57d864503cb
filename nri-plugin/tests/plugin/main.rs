//! The program against a runtime that a test plays: what it answers, what it bears, and what it writes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub,
    missing_debug_implementations
)]

mod answers;
mod command_line;
mod doctor;
mod faults;
mod hostile;
mod live_updates;
mod node;
mod relay;
mod runtime;
mod slow_relay;
