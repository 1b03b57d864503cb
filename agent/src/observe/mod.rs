//! The look at the kernel: one netlink dump of links and addresses, and what sysfs adds to it.

mod model;

pub use model::{Interface, Observation, PciFunction};
