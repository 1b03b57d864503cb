//! systemd units that are kept near a device (`pin = "unit:NAME"`): drop-ins below
//! `/run/systemd/system`, which systemd reads again when one changed.

mod drop_in;

pub use drop_in::{Pinned, drop_ins, is_drop_in};

use crate::roots::Roots;

/// Whether systemd runs the guest: without it there is nobody to read a drop-in, and the directory of its
/// units, by which programs know it (`sd_booted(3)`), is not to be made.
pub fn is_systemd_running(roots: &Roots) -> bool {
    roots.run.join("systemd/system").is_dir()
}
