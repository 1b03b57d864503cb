//! How much was tried, and whether a canary was touched.

use std::sync::atomic::{AtomicUsize, Ordering};

use dra_guest_tests::runtime::TreeState;

static CONTAINERS: AtomicUsize = AtomicUsize::new(0);
static RUNS: AtomicUsize = AtomicUsize::new(0);
static TOUCHED: AtomicUsize = AtomicUsize::new(0);

/// A container of a real runtime was started.
pub(crate) fn container() {
    CONTAINERS.fetch_add(1, Ordering::Relaxed);
}

/// The hook was run by itself.
pub(crate) fn run() {
    RUNS.fetch_add(1, Ordering::Relaxed);
}

/// The canary must be as it was.
#[track_caller]
pub(crate) fn compare(before: &TreeState, after: &TreeState, what: &str) {
    if before != after {
        TOUCHED.fetch_add(1, Ordering::Relaxed);
        panic!("{what}: the canary was touched\nbefore: {before:#?}\nafter: {after:#?}");
    }
}

/// The figures, in a line.
pub(crate) fn summary() -> String {
    format!(
        "attacks: {} containers of real runtimes, {} more runs of the hook; canaries touched: {}",
        CONTAINERS.load(Ordering::Relaxed),
        RUNS.load(Ordering::Relaxed),
        TOUCHED.load(Ordering::Relaxed)
    )
}
