//! The files that the agent has written for other programs, in a list with the digest of each: it
//! replaces and removes what it wrote itself and nobody has changed since, and nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use device_attributes::hexadecimal;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::DropIn;
use crate::roots::Roots;
use crate::small_file;
use crate::state_directory::{put, put_where_none_is};
use crate::units;

/// The list, below `/run`.
const LIST: &str = "dra-guest/files.json";

/// The digests that a file of ours may have, by its path below `/run`.
///
/// There are two from before it is replaced until after, so that an agent that is ended between does not
/// disown it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct OwnFiles(BTreeMap<PathBuf, Vec<String>>);

/// Why a file is not as it is to be.
#[derive(Debug, thiserror::Error)]
pub(super) enum OwnFileError {
    /// The operating system refuses.
    #[error("cannot write {}: {error}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The operating system's answer.
        error: std::io::Error,
    },
    /// It was written or changed by somebody else.
    #[error("{} is not as this agent wrote it, and is left as it is", .0.display())]
    Foreign(PathBuf),
}

/// What came of bringing the files into their wanted state.
#[derive(Debug, Default)]
pub(super) struct Synced {
    /// Those that were written or removed, below `/run`.
    pub(super) changed: Vec<PathBuf>,
    /// What was refused.
    pub(super) errors: Vec<OwnFileError>,
}

impl OwnFiles {
    fn load(roots: &Roots) -> Self {
        small_file::read(&roots.run.join(LIST))
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default()
    }

    fn store(&self, roots: &Roots) -> Result<(), OwnFileError> {
        let path = roots.run.join(LIST);
        // Every map has string keys, and memory takes all bytes.
        let bytes = serde_json::to_vec(self).unwrap_or_default();
        put(&path, &bytes).map_err(|error| OwnFileError::Write { path, error })
    }

    /// What is in the file's place: nothing, ours, or somebody else's.
    fn look(&self, roots: &Roots, path: &Path) -> Place {
        match small_file::read(&roots.run.join(path)) {
            Ok(bytes) => {
                let digest = digest(&bytes);
                if self.has(path, &digest) {
                    Place::Ours(digest)
                } else {
                    Place::Foreign
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Place::Free,
            Err(_) => Place::Foreign,
        }
    }
}

/// What is to become of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Change {
    /// It is written, in whole.
    Write,
    /// It is removed.
    Remove,
    /// It stays, since somebody else wrote it.
    Leave,
}

enum Place {
    Free,
    Ours(String),
    Foreign,
}

/// What [`sync`] would do, below `/run`. A file of somebody else is left.
pub(super) fn changes(roots: &Roots, wanted: &[DropIn]) -> Vec<(PathBuf, Change)> {
    let known = OwnFiles::load(roots);
    let written = wanted.iter().filter_map(|file| {
        let digest = digest(file.text.as_bytes());
        let change = match known.look(roots, &file.path) {
            Place::Ours(present) if present == digest => return None,
            Place::Ours(_) | Place::Free => Change::Write,
            Place::Foreign => Change::Leave,
        };
        Some((file.path.clone(), change))
    });
    let removed = known.0.keys().filter_map(|path| {
        let is_wanted = wanted.iter().any(|file| file.path == *path);
        let change = match known.look(roots, path) {
            Place::Ours(_) => Change::Remove,
            Place::Foreign => Change::Leave,
            Place::Free => return None,
        };
        (!is_wanted).then(|| (path.clone(), change))
    });
    written.chain(removed).collect()
}

/// Writes the files that are wanted and removes those of ours that are not any more.
///
/// A list that says that all is done is believed, which saves a look at every file, unless
/// `is_doubtful`.
pub(super) fn sync(roots: &Roots, wanted: &[DropIn], is_doubtful: bool) -> Synced {
    let mut synced = Synced::default();
    let known = OwnFiles::load(roots);
    let digests = wanted.iter().map(|file| {
        let digest = digest(file.text.as_bytes());
        (file.path.clone(), vec![digest])
    });
    let after = OwnFiles(digests.collect());
    let mut during = after.clone();
    for (path, digests) in &known.0 {
        let place = during.0.entry(path.clone()).or_default();
        place.extend(
            digests
                .iter()
                .filter(|digest| !after.has(path, digest))
                .cloned(),
        );
    }
    if after == known && !is_doubtful {
        return synced;
    }
    if during != known
        && let Err(error) = during.store(roots)
    {
        synced.errors.push(error);
        return synced;
    }
    for file in wanted {
        // One that is new need not be looked for.
        if !known.0.contains_key(&file.path) {
            let path = roots.run.join(&file.path);
            match put_where_none_is(&path, file.text.as_bytes()) {
                Ok(true) => {}
                other => {
                    synced.note(roots, &file.path, other.map(drop));
                    continue;
                }
            }
        }
        match during.look(roots, &file.path) {
            Place::Ours(digest) if after.has(&file.path, &digest) => {}
            Place::Foreign => synced.refuse(roots, &file.path, None),
            Place::Free | Place::Ours(_) => {
                let result = put(&roots.run.join(&file.path), file.text.as_bytes());
                synced.note(roots, &file.path, result);
            }
        }
    }
    for path in known.0.keys().filter(|path| !after.0.contains_key(*path)) {
        synced.remove(roots, &during, path);
    }
    if after != during
        && let Err(error) = after.store(roots)
    {
        synced.errors.push(error);
    }
    synced
}

/// Removes every file that the agent wrote and nobody has changed since, and the list.
///
/// Gives back what was removed, below `/run`, and what was not.
pub(super) fn remove_own_files(roots: &Roots) -> (Vec<PathBuf>, Vec<OwnFileError>) {
    let known = OwnFiles::load(roots);
    let mut synced = Synced::default();
    for path in known.0.keys() {
        synced.remove(roots, &known, path);
    }
    if synced.errors.is_empty() {
        // Without a file of ours there is nothing to list.
        let _ = fs::remove_file(roots.run.join(LIST));
    }
    (synced.changed, synced.errors)
}

impl OwnFiles {
    fn has(&self, path: &Path, digest: &String) -> bool {
        self.0.get(path).is_some_and(|ours| ours.contains(digest))
    }
}

impl Synced {
    fn remove(&mut self, roots: &Roots, known: &OwnFiles, path: &Path) {
        match known.look(roots, path) {
            Place::Free => {}
            Place::Foreign => self.refuse(roots, path, None),
            Place::Ours(_) => {
                let result = fs::remove_file(roots.run.join(path));
                if result.is_ok() && units::is_drop_in(path) {
                    // The unit's directory of drop-ins, unless others have some there.
                    let _ = path
                        .parent()
                        .map(|unit| fs::remove_dir(roots.run.join(unit)));
                }
                self.note(roots, path, result);
            }
        }
    }

    fn note(&mut self, roots: &Roots, path: &Path, result: std::io::Result<()>) {
        match result {
            Ok(()) => self.changed.push(path.to_owned()),
            Err(error) => self.refuse(roots, path, Some(error)),
        }
    }

    fn refuse(&mut self, roots: &Roots, path: &Path, error: Option<std::io::Error>) {
        let path = roots.run.join(path);
        self.errors.push(match error {
            Some(error) => OwnFileError::Write { path, error },
            None => OwnFileError::Foreign(path),
        });
    }
}

fn digest(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}
