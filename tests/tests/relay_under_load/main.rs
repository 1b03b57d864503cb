//! The relay of a node against the real API server when guests want to break it, and when it is killed.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub
)]

mod beside_hostile_guests;
mod hostile;
mod killed;

use std::process::ExitCode;

use dra_guest_tests::cluster::ControlPlane;
use dra_guest_tests::suite::{self, Shared};

static CONTROL_PLANE: Shared<ControlPlane> =
    Shared::new(|| ControlPlane::with_kubevirt("relay_under_load"));

fn main() -> ExitCode {
    suite::run(
        &CONTROL_PLANE,
        &[
            (
                "hostile_guests_starve_no_other_and_cost_bounded_memory",
                beside_hostile_guests::honest_guests_are_heard,
            ),
            (
                "a_relay_that_is_killed_at_any_moment_loses_nothing",
                killed::at_any_moment,
            ),
        ],
    )
}
