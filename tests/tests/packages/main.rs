//! The packages: what is in them, and what they do to a Debian when they come, change and go.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod contents;
mod debian;
mod rpm;
mod units;

use std::sync::OnceLock;

use dra_guest_tests::packages::Packages;

/// The version that the suite installs, and the one that it upgrades to.
pub(crate) const VERSION: &str = "0.1.0";
const LATER: &str = "0.1.1";

/// The packages of the first version, built once for all tests.
pub(crate) fn packages() -> &'static Packages {
    static BUILT: OnceLock<Packages> = OnceLock::new();
    BUILT.get_or_init(|| Packages::build(VERSION).unwrap())
}

/// The packages of the later version.
pub(crate) fn later_packages() -> &'static Packages {
    static BUILT: OnceLock<Packages> = OnceLock::new();
    BUILT.get_or_init(|| {
        // Both are packed from one directory of the target.
        packages();
        Packages::build(LATER).unwrap()
    })
}
