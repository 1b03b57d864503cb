//! The agent in the guest: observe → plan → apply → verify → report, a room for each step.

pub mod apply;
pub mod cli;
pub mod commands;
pub mod damper;
pub mod end_signal;
pub mod exit;
mod listing;
pub mod netlink;
pub mod observe;
pub mod owners;
pub mod pace;
pub mod pipeline;
pub mod plan;
pub mod policy;
pub mod report;
pub mod roots;
pub mod source;
pub mod udev;
pub mod verify;
