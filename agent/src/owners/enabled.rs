//! Whether systemd is to start a manager with the guest: the agent is there before it.

use std::path::{Path, PathBuf};

use crate::roots::Roots;

/// What `systemctl enable` makes a link in, and the directories where others make it: an image's vendor, and netplan by
/// its generator.
fn wants(roots: &Roots) -> [PathBuf; 3] {
    let wants = |directory: PathBuf| directory.join("multi-user.target.wants");
    [
        wants(roots.etc.join("systemd/system")),
        wants(roots.run.join("systemd/generator.late")),
        wants(roots.usr.join("lib/systemd/system")),
    ]
}

/// Whether a unit is enabled, and not masked (`systemctl(1)`), which leaves those links.
pub(super) fn is_enabled(roots: &Roots, unit: &str) -> bool {
    let mut wants = wants(roots).into_iter();
    wants.any(|directory| directory.join(unit).symlink_metadata().is_ok())
        && !is_masked(roots, unit)
}

/// A mask of `/etc` is before one of `/run`, and a unit of its own there before both.
fn is_masked(roots: &Roots, unit: &str) -> bool {
    let files = [&roots.etc, &roots.run].map(|root| root.join("systemd/system").join(unit));
    let mut files = files.iter().filter(|file| file.symlink_metadata().is_ok());
    let leads_nowhere = |file: &PathBuf| {
        file.read_link()
            .is_ok_and(|target| target == Path::new("/dev/null"))
    };
    files.next().is_some_and(leads_nowhere)
}
