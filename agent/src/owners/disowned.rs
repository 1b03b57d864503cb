//! The interfaces that `NetworkManager` was told by `nmcli` to let go of: it keeps to that until it
//! starts anew, so that taking it back needs to know them.

use std::collections::BTreeSet;
use std::fs;

use crate::roots::Roots;
use crate::state_directory::{self, replace};

/// The file in the agent's directory.
const FILE: &str = "disowned.json";

/// The indices of the interfaces.
pub(super) fn load(roots: &Roots) -> BTreeSet<u32> {
    fs::read(state_directory::path(roots).join(FILE))
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default()
}

/// Notes one more, before it is told.
pub(super) fn add(roots: &Roots, index: u32) -> Result<(), String> {
    let mut indices = load(roots);
    indices.insert(index);
    // Numbers are JSON, and memory takes all bytes.
    let bytes = serde_json::to_vec(&indices).unwrap_or_default();
    let path = state_directory::path(roots).join(FILE);
    replace(&path, &bytes).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Forgets all of them.
pub(super) fn clear(roots: &Roots) -> Result<(), String> {
    let path = state_directory::path(roots).join(FILE);
    state_directory::remove(&path)
        .map_err(|error| format!("cannot remove {}: {error}", path.display()))
}
