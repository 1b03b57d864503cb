//! How far a walk through a directory has come, and the way back.

use super::Walk;

/// How far a walk has come, for reading a directory anew.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    notes: (usize, usize),
    rejected: usize,
    readings: usize,
    count: Count,
}

/// What is bounded.
#[derive(Clone, Copy, Default)]
pub(super) struct Count {
    pub(super) entries: usize,
    pub(super) files: usize,
    pub(super) bytes: usize,
}

impl Walk<'_, '_> {
    pub(super) fn mark(&self) -> Mark {
        Mark {
            notes: self.notes.mark(),
            rejected: self.rejected.len(),
            readings: self.readings.len(),
            count: self.count,
        }
    }

    pub(super) fn back_to(&mut self, mark: Mark) {
        self.notes.back_to(mark.notes);
        self.rejected.truncate(mark.rejected);
        self.readings.truncate(mark.readings);
        self.count = mark.count;
    }
}
