//! The undo log on disk: `/run/dra-guest/journal`, a JSON object a line.
//!
//! ```text
//! {"bootId":"2f0c…"}
//! {"begin":{"device":0,"interface":3,"name":"eth0","action":{"rename":{"to":"net1"}},"reason":"…"}}
//! {"retract":{…}}
//! ```
//!
//! A line says that a step is to be made. The lines of several steps are written at once before the
//! first of them, so that a journal that outlives its writer never lacks one; which of them were made,
//! a look at the kernel tells. `retract` takes the last equal line back, when the step was not made,
//! changed nothing or was undone. `write(2)` is all it takes: what is in the page cache outlives the
//! process, and `/run` does not outlive the kernel.

mod ledger;
mod lines;

use std::fs::File;
use std::io::{self, Write as _};
use std::path::PathBuf;

use device_attributes::limits;

pub use ledger::{Entry, Ledger, Thing};

use lines::{Line, Record, replace, text};

use crate::plan::Step;
use crate::report::relay::boot_id;
use crate::roots::Roots;
use crate::{small_file, state_directory};

/// The file below the agent's directory.
const FILE: &str = "journal";
/// The most bytes of it. Rewritten, it has two lines for each thing that the agent changed: this is
/// room for all that [`limits::DEVICES`] devices can have.
const BYTES: usize = limits::TREE_BYTES;
/// How many lines are written between two looks at whether most of them are of no more use.
const SLACK: usize = 64;

/// The journal, open for one pass; the pass's lock keeps others away from it.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    boot_id: String,
    ledger: Ledger,
    lines: usize,
    bytes: usize,
    /// Absent before the first line is written, and for a journal that is kept nowhere.
    file: Option<File>,
    /// Whether lines can be added to the file that is there.
    is_sound: bool,
    keep: bool,
    trouble: Option<JournalError>,
}

/// Why the journal cannot be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It cannot be read.
    #[error("cannot read {}: {error}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's answer.
        error: io::Error,
    },
    /// It cannot be written.
    #[error("cannot write {}: {error}: revert will lack what is done now", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The operating system's answer.
        error: io::Error,
    },
    /// It has no room.
    #[error("{} has more than {BYTES} bytes: revert will lack what is done now", .0.display())]
    Full(PathBuf),
}

/// Steps, in their order.
pub trait Steps<'a>: IntoIterator<Item = &'a Step, IntoIter: ExactSizeIterator + Clone> {}

impl<'a, S> Steps<'a> for S where
    S: IntoIterator<Item = &'a Step, IntoIter: ExactSizeIterator + Clone>
{
}

impl Journal {
    /// Reads what was done since the machine came up; nothing is written yet.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn open(roots: &Roots) -> Result<Self, JournalError> {
        let path = state_directory::path(roots).join(FILE);
        let mut journal = Self {
            boot_id: boot_id(&roots.proc),
            keep: true,
            path,
            ..Self::nowhere()
        };
        // A line may begin within the most bytes and end beyond.
        let bytes = match small_file::read_larger(&journal.path, 2 * BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(journal),
            Err(error) => {
                let path = journal.path;
                return Err(JournalError::Read { path, error });
            }
        };
        journal.take(&bytes);
        Ok(journal)
    }

    /// A journal that is kept nowhere.
    pub fn nowhere() -> Self {
        Self {
            path: PathBuf::new(),
            boot_id: String::new(),
            ledger: Ledger::default(),
            lines: 0,
            bytes: 0,
            file: None,
            is_sound: false,
            keep: false,
            trouble: None,
        }
    }

    /// Forgets what is as it was before the agent: a route that came and went, an interface that is
    /// gone. The file loses it when it is rewritten.
    pub fn forget_all_but(&mut self, open: &[Thing]) {
        self.ledger.retain(|thing| open.contains(thing));
    }

    /// What the agent changed and has not changed back.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// What kept the journal from being written, once.
    pub fn take_trouble(&mut self) -> Option<JournalError> {
        self.trouble.take()
    }

    /// Before steps are made that change different things: where one thing changed twice, it could not
    /// be told from what it is like now whether it is as the agent left it. A journal that cannot be
    /// written keeps no device from being configured: the trouble is noted.
    pub fn begin<'a>(&mut self, steps: impl Steps<'a>) {
        let steps = steps.into_iter();
        for step in steps.clone() {
            self.ledger.begin(step);
        }
        self.append(steps.map(Line::Begin));
    }

    /// After steps that changed nothing, were undone, or were not made after all; the last first.
    pub fn retract<'a>(&mut self, steps: impl Steps<'a>) {
        let steps = steps.into_iter();
        for step in steps.clone() {
            self.ledger.retract(step);
        }
        self.append(steps.map(Line::Retract));
    }

    /// After steps that were made and stand: what they brought back to what it was before the agent is
    /// the agent's no more. What others make of it then is theirs.
    pub fn settle(&mut self, steps: &[&Step]) {
        for step in steps {
            let entry = self.ledger.entry(&Thing::of(step));
            if let Some(entry) = entry.filter(|entry| entry.is_back()) {
                let steps: Vec<Step> = entry.steps_back().cloned().collect();
                self.retract(&steps);
            }
        }
    }

    /// Keeps only the things for which `keep` holds, and rewrites the file; it goes away when nothing
    /// is left.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn retain(&mut self, keep: impl FnMut(&Thing) -> bool) -> Result<(), JournalError> {
        self.ledger.retain(keep);
        self.rewrite()
    }

    fn take(&mut self, bytes: &[u8]) {
        // What follows the last newline was cut while it was written: its step was never made.
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
        let mut lines = bytes
            .get(..whole)
            .unwrap_or_default()
            .split(|byte| *byte == b'\n');
        let first = lines.next().map(serde_json::from_slice);
        if !matches!(first, Some(Ok(Record::BootId(boot_id))) if boot_id == self.boot_id) {
            // Of another boot: those interfaces are gone.
            return;
        }
        for line in lines {
            match serde_json::from_slice(line) {
                Ok(Record::Begin(step)) => self.ledger.begin(&step),
                Ok(Record::Retract(step)) => self.ledger.retract(&step),
                Ok(Record::BootId(_)) => {}
                Err(error) => {
                    let path = self.path.display();
                    tracing::warn!(
                        "{path}: a line is not of this version and is left out: {error}"
                    );
                }
            }
            self.lines += 1;
        }
        self.bytes = bytes.len();
        self.is_sound = bytes.last() == Some(&b'\n');
    }

    fn append<'a>(&mut self, lines: impl ExactSizeIterator<Item = Line<'a>>) {
        if self.keep
            && lines.len() > 0
            && let Err(error) = self.try_append(lines)
            && self.trouble.is_none()
        {
            self.trouble = Some(error);
        }
    }

    fn try_append<'a>(
        &mut self,
        lines: impl ExactSizeIterator<Item = Line<'a>>,
    ) -> Result<(), JournalError> {
        if self.file.is_none() && self.is_sound {
            self.file = File::options().append(true).open(&self.path).ok();
        }
        if self.file.is_none() || self.is_mostly_stale(lines.len()) {
            // The ledger has the records.
            return self.rewrite();
        }
        let count = lines.len();
        let bytes = text(lines);
        if self.bytes + bytes.len() > BYTES {
            return Err(JournalError::Full(self.path.clone()));
        }
        if let Some(file) = &mut self.file {
            if let Err(error) = file.write_all(&bytes) {
                // Cut in its middle, the next line would be lost with it.
                (self.file, self.is_sound) = (None, false);
                let path = self.path.clone();
                return Err(JournalError::Write { path, error });
            }
            self.lines += count;
            self.bytes += bytes.len();
        }
        Ok(())
    }

    /// Whether most lines are of no more use. To count the ledger's is to walk through it: not each
    /// time that some `more` are written.
    fn is_mostly_stale(&self, more: usize) -> bool {
        let is_time = self.lines / SLACK != (self.lines + more) / SLACK;
        is_time && self.lines > 2 * self.ledger.lines() + SLACK
    }

    /// Writes the file anew, with what counts.
    fn rewrite(&mut self) -> Result<(), JournalError> {
        let write = |error| JournalError::Write {
            path: self.path.clone(),
            error,
        };
        if self.ledger.is_empty() {
            (self.file, self.is_sound) = (None, false);
            return state_directory::remove(&self.path).map_err(write);
        }
        let first = [Line::BootId(&self.boot_id)].into_iter();
        let bytes = text(first.chain(self.ledger.steps().map(Line::Begin)));
        if bytes.len() > BYTES {
            return Err(JournalError::Full(self.path.clone()));
        }
        self.file = Some(replace(&self.path, &bytes).map_err(write)?);
        self.lines = self.ledger.lines();
        self.bytes = bytes.len();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
