//! What a reader passes over, in bounded number.

use super::path::FieldPath;
use super::source::Source;
use crate::{ReadError, ReadErrorKind, limits};

/// The notes of one reading.
pub(super) struct Notes {
    subject: String,
    kept: Vec<String>,
    left_out: usize,
}

impl Notes {
    /// Begins the notes about a file or a directory.
    pub(super) fn new(subject: &str) -> Self {
        Self {
            subject: subject.to_owned(),
            kept: Vec::new(),
            left_out: 0,
        }
    }

    /// Whether further notes are only counted.
    pub(super) fn is_full(&self) -> bool {
        self.kept.len() >= limits::NOTES
    }

    /// Adds a sentence that says its place itself.
    pub(super) fn add(&mut self, note: String) {
        if self.is_full() {
            self.left_out += 1;
        } else {
            self.kept.push(note);
        }
    }

    /// Adds a sentence about a part of the text.
    pub(super) fn about(
        &mut self,
        source: &Source<'_>,
        part: &str,
        path: &FieldPath,
        what: String,
    ) {
        if self.is_full() {
            self.left_out += 1;
        } else {
            // A note has the shape of an error: file, line, column, field, words.
            let note: ReadError = source.error(part, path.field(), ReadErrorKind::Invalid(what));
            self.kept.push(note.to_string());
        }
    }

    /// Notes a key that is not known.
    pub(super) fn unknown_key(&mut self, source: &Source<'_>, part: &str, path: &FieldPath) {
        self.about(
            source,
            part,
            path,
            "this key is not known and was ignored".to_owned(),
        );
    }

    /// How many there are, for [`Notes::back_to`].
    pub(super) fn mark(&self) -> (usize, usize) {
        (self.kept.len(), self.left_out)
    }

    /// Without those that were made since, of what is read anew.
    pub(super) fn back_to(&mut self, (kept, left_out): (usize, usize)) {
        self.kept.truncate(kept);
        self.left_out = left_out;
    }

    /// Counts notes that were not made.
    pub(super) fn skip(&mut self, count: usize) {
        self.left_out += count;
    }

    /// The sentences, the last of them counting those that were left out.
    pub(super) fn finish(mut self) -> Vec<String> {
        if self.left_out > 0 {
            let note = format!(
                "{}: {} more notes were left out",
                self.subject, self.left_out
            );
            self.kept.push(note);
        }
        self.kept
    }
}
