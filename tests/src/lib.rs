//! The harness of the end-to-end suites.

pub mod bench;
pub mod cache;
pub mod cluster;
pub mod command;
pub mod guest;
pub mod interrupt;
pub mod packages;
pub mod process;
pub mod programs;
pub mod relay;
pub mod runtime;
pub mod side_by_side;
pub mod suite;
pub mod table;
pub mod wait;
pub mod way;
pub mod way_on_node;
