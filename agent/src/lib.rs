//! The agent in the guest: observe → plan → apply → verify → report, a room for each step.

pub mod apply;
pub mod cli;
pub mod commands;
pub mod concern;
pub mod damper;
pub mod exit;
pub mod journal;
mod listing;
pub mod lock;
pub mod memory;
pub mod netlink;
pub mod numa;
pub mod observe;
pub mod owners;
pub mod pace;
pub mod pipeline;
pub mod plan;
pub mod policy;
pub mod report;
pub mod roots;
pub mod routing;
pub mod signals;
mod small_file;
pub mod source;
mod state_directory;
pub mod udev;
pub mod verify;
