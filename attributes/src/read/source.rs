//! A file's text, and the places in it.

use std::cell::OnceCell;

use serde_json::value::RawValue;

use crate::{Position, ReadError, ReadErrorKind, limits, one_line};

/// A file's text, as far as it is text.
pub(super) struct Source<'a> {
    /// The file, for messages.
    pub(super) file: &'a str,
    /// The text without its byte-order mark, up to the first byte that no JSON text can have.
    text: &'a str,
    /// What that byte is.
    end: Option<String>,
    /// Where the lines begin; made for the first place that is asked for.
    line_starts: OnceCell<Vec<usize>>,
}

impl<'a> Source<'a> {
    /// Takes a file's bytes.
    ///
    /// A byte that is no text is not an error yet: a stream may be read to its end before it.
    pub(super) fn new(file: &'a str, bytes: &'a [u8]) -> Result<Self, ReadError> {
        if bytes.len() > limits::FILE_BYTES {
            return Err(ReadError::file(file, ReadErrorKind::TooLarge));
        }
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let first_chunk = bytes.utf8_chunks().next();
        let mut text = first_chunk.as_ref().map_or("", |chunk| chunk.valid());
        let mut end = first_chunk.and_then(|chunk| {
            let byte = chunk.invalid().first()?;
            Some(format!("the byte 0x{byte:02x} is not UTF-8 text"))
        });
        if let Some((before, _)) = text.split_once('\0') {
            text = before;
            end = Some("a NUL byte stands in the text".to_owned());
        }
        Ok(Self {
            file,
            text,
            end,
            line_starts: OnceCell::new(),
        })
    }

    /// The JSON value that begins at or after `offset`; none when only white space is left.
    ///
    /// It is whole, nested within the limit, and has no key twice in one object.
    pub(super) fn value(&self, offset: usize) -> Result<Option<&'a RawValue>, ReadError> {
        let rest = self.text.get(offset..).unwrap_or_default();
        let blank = |c| matches!(c, ' ' | '\t' | '\n' | '\r');
        let rest = rest.trim_start_matches(blank);
        if rest.is_empty() {
            return match self.end {
                None => Ok(None),
                Some(_) => Err(self.end_error()),
            };
        }
        super::check::check(self, rest)?;
        serde_json::Deserializer::from_str(rest)
            .into_iter::<&RawValue>()
            .next()
            .transpose()
            .map_err(|error| self.json_error(rest, &error))
    }

    /// Where a part of the text ends.
    pub(super) fn end_of(&self, part: &str) -> usize {
        self.offset(part) + part.len()
    }

    /// Refuses text behind the only value of a file.
    pub(super) fn nothing_after(&self, value: &RawValue) -> Result<(), ReadError> {
        let Some(extra) = self.value(self.end_of(value.get()))? else {
            return Ok(());
        };
        let kind =
            ReadErrorKind::Syntax("more text stands behind the end of the object".to_owned());
        Err(self.error(extra.get(), None, kind))
    }

    /// An error at the beginning of a part of the text.
    pub(super) fn error(
        &self,
        part: &str,
        field: Option<String>,
        kind: ReadErrorKind,
    ) -> ReadError {
        self.error_at(self.offset(part), field, kind)
    }

    /// An error at an offset in the text.
    pub(super) fn error_at(
        &self,
        offset: usize,
        field: Option<String>,
        kind: ReadErrorKind,
    ) -> ReadError {
        ReadError {
            file: self.file.to_owned(),
            position: Some(self.position(offset)),
            field,
            kind,
        }
    }

    /// The parser's error about `part`, with its place in the whole text.
    pub(super) fn json_error(&self, part: &str, error: &serde_json::Error) -> ReadError {
        let kind = match error.classify() {
            serde_json::error::Category::Eof if self.end.is_some() => return self.end_error(),
            serde_json::error::Category::Eof => ReadErrorKind::Truncated,
            serde_json::error::Category::Data => ReadErrorKind::Invalid(words(error)),
            _ => ReadErrorKind::Syntax(format!("this is not JSON: {}", words(error))),
        };
        ReadError {
            file: self.file.to_owned(),
            position: Some(self.json_position(part, error)),
            field: None,
            kind,
        }
    }

    /// The place that the parser of `part` stopped at.
    pub(super) fn json_position(&self, part: &str, error: &serde_json::Error) -> Position {
        let start = self.position(self.offset(part));
        let column = error.column().max(1);
        match error.line() {
            0 => start,
            1 => Position {
                line: start.line,
                column: start.column + column - 1,
            },
            line => Position {
                line: start.line + line - 1,
                column,
            },
        }
    }

    fn end_error(&self) -> ReadError {
        let kind = ReadErrorKind::Syntax(self.end.clone().unwrap_or_default());
        self.error_at(self.text.len(), None, kind)
    }

    /// The offset of a part that was borrowed from the text.
    pub(super) fn offset(&self, part: &str) -> usize {
        let offset = part
            .as_ptr()
            .addr()
            .saturating_sub(self.text.as_ptr().addr());
        offset.min(self.text.len())
    }

    fn position(&self, offset: usize) -> Position {
        let starts = self.line_starts.get_or_init(|| {
            let newlines = self.text.match_indices('\n');
            std::iter::once(0)
                .chain(newlines.map(|(newline, _)| newline + 1))
                .collect()
        });
        let line = starts.partition_point(|start| *start <= offset);
        let start = line.checked_sub(1).and_then(|line| starts.get(line));
        Position {
            line,
            column: offset - start.unwrap_or(&0) + 1,
        }
    }
}

/// The most bytes of the parser's words that are kept: it repeats a text that does not fit whole.
const WORDS: usize = 400;

/// The parser's words without its own account of the place, and without names of Rust types.
pub(super) fn words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let words = text.strip_suffix(&place).unwrap_or(&text);
    let words = one_line(words, WORDS);
    match words.rsplit_once("expected ") {
        Some((before, what)) if what.starts_with("struct ") => {
            format!("{before}expected an object")
        }
        Some((before, "i64" | "u32")) => format!("{before}expected a whole number"),
        _ => words,
    }
}
