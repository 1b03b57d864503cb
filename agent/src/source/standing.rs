//! Where the attributes came from whose configuration stands, by the status that was written last.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::LoadError;
use crate::report::Status;
use crate::roots::Roots;

#[derive(Deserialize)]
struct Source {
    source: Option<PathBuf>,
}

/// The file or directory; none when nothing stands, or nobody knows.
pub(crate) fn source(roots: &Roots) -> Option<PathBuf> {
    let written: Option<Source> = Status::read_as(roots).unwrap_or_default();
    written?.source
}

/// Refuses a source that is further down than the one of what stands: it says other things, or nothing, of the same
/// devices, and to follow it would take back what was applied.
///
/// # Errors
/// [`LoadError::NotYet`], with both.
pub(super) fn refuse_further_down(
    roots: &Roots,
    candidates: &[PathBuf],
    answering: &Path,
    rank: usize,
) -> Result<(), LoadError> {
    if rank == 0 {
        return Ok(());
    }
    let standing = source(roots);
    let before = candidates.iter().take(rank);
    match before.into_iter().find(|it| Some(*it) == standing.as_ref()) {
        None => Ok(()),
        Some(gone) => Err(LoadError::NotYet(format!(
            "what stands came from {}, which is not there now; {} is not read in its place (to go by it, run \
             dra-guest-agent revert first, or give it by --attributes)",
            gone.display(),
            answering.display()
        ))),
    }
}
