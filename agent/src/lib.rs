//! The agent in the guest: observe → plan → apply → verify → report, a room for each step.

pub mod observe;
pub mod plan;
pub mod roots;
