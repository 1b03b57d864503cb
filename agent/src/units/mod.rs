//! systemd units that are kept near a device (`pin = "unit:NAME"`): drop-ins below
//! `/run/systemd/system`, which systemd reads again when one changed.

mod drop_in;
mod running;

use std::path::Path;

mod wanted;

pub use drop_in::{Bound, Pinned, drop_ins, is_drop_in};
pub(crate) use running::bring;
pub use wanted::wanted;

use crate::owners::run_program;
use crate::roots::Roots;

/// Its way to systemd as root is systemd's own socket, which is there without a bus too.
const SYSTEMCTL: &str = "/usr/bin/systemctl";

/// Has systemd read its units again, and their drop-ins.
pub(crate) async fn reload() -> Result<(), String> {
    run_program(Path::new(SYSTEMCTL), &["daemon-reload"])
        .await
        .map_err(|why| format!("systemd was not told to read its units again: {why}"))
}

/// Whether the guest has systemd: without it there is nobody to read a drop-in, and the directory of its
/// units, by which programs know it (`sd_booted(3)`), is not to be made.
pub fn has_systemd(roots: &Roots) -> bool {
    roots.run.join("systemd/system").is_dir()
}

/// Whether it can be told to read its units again.
pub(crate) fn is_systemd_running(roots: &Roots) -> bool {
    roots.run.join("systemd/private").exists()
}
