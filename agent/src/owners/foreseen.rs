//! What handing the interfaces over would write, for `plan`.

use std::path::PathBuf;

use serde::Serialize;

use super::drop_ins::NETWORKD_CONF;
use super::own_files::{self, Change};
use super::{DropIn, drop_ins, ours};
use crate::observe::Observation;
use crate::plan::{Plan, Wanted};
use crate::roots::Roots;
use crate::units;

/// One file that is to be another than it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileStep {
    /// The file.
    pub path: PathBuf,
    /// What becomes of it.
    pub action: Change,
    /// Why, in a sentence.
    pub reason: &'static str,
}

/// The files that `apply` would write and remove before its first step. `is_whole`: no entry of the document is
/// broken.
pub fn foreseen(
    roots: &Roots,
    wanted: &[Wanted],
    observation: &Observation,
    plan: &Plan,
    units: Vec<DropIn>,
    is_whole: bool,
) -> Vec<FileStep> {
    let mut files = drop_ins(&ours(wanted, observation, plan, is_whole));
    files.extend(units);
    let changes = own_files::changes(roots, &files).into_iter();
    let steps = changes.map(|(path, action)| FileStep {
        reason: match action {
            Change::Write => purpose(&path),
            Change::Remove => "nothing needs it any more",
            Change::Leave => "it is not as this agent wrote it",
        },
        path: roots.run.join(path),
        action,
    });
    steps.collect()
}

fn purpose(path: &std::path::Path) -> &'static str {
    let ending = path.extension().and_then(|ending| ending.to_str());
    match ending {
        Some("network") => "it tells systemd-networkd which interfaces the agent configures",
        Some("conf") if path == std::path::Path::new(NETWORKD_CONF) => {
            "it tells systemd-networkd to leave routes and policy rules that it did not make"
        }
        _ if units::is_drop_in(path) => "it keeps a unit near a device (pin)",
        Some("conf") => "it tells NetworkManager which interfaces the agent configures",
        // A `.link` file.
        _ => "it tells udev the name that the interface is to have",
    }
}

impl std::fmt::Display for FileStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let verb = match self.action {
            Change::Write => "write",
            Change::Remove => "remove",
            Change::Leave => "leave",
        };
        write!(f, "{verb} {}: {}", self.path.display(), self.reason)
    }
}
