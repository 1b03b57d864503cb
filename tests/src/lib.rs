//! The harness of the end-to-end suites.

pub mod runtime;
