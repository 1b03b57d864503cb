//! The planner, a pure function: what is wanted and what is observed to steps and problems.

pub mod step;

pub use step::{Action, Step, Transaction};
