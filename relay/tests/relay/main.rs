//! The real relay, spoken to as guests speak to it: over its UNIX sockets.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub
)]

mod agents_words;
mod claims_directory;
mod doctor;
mod guest;
mod guest_reports;
mod hostile_guests;
mod monitor;
mod monitoring;
mod node_arguments;
mod silence;
mod start_and_end;
mod world;
