//! Where the checks of pins look.

/// The CPUs of the node that the devices are on.
pub(crate) const NEAR: [&str; 2] = ["2", "3"];
/// Those of the other.
pub(crate) const FAR: &str = "0-1";
