//! The program as its users run it, against the kernel's netlink in namespaces.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod adversity;
mod beside_others;
mod commands;
mod exec;
mod foes;
mod foreseen_owners;
mod guest;
mod killed;
mod links;
mod moving;
#[path = "../namespace/mod.rs"]
mod namespace;
mod near;
mod near_status;
mod needed_by_others;
mod no_longer_wanted;
mod old_kernel;
mod overrun;
mod planning;
mod ports;
mod readiness;
mod refused_routes;
mod revert;
mod routing;
mod service;
mod source_routing;
mod status;
mod staying;
mod wish;
mod words;
