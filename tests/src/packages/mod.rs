//! The packages as `make packages` builds them, and a Debian root to install them in.

mod build;
mod root;

pub use build::{Packages, SOURCE_TIME, target};
pub use root::DebianRoot;
