//! How a policy's TOML is read: every key by its name, every mistake with its place.
//!
//! Not by serde: it stops at the first mistake, knows the place of a value but not of the key that
//! is wrong, and can only list all keys where the nearest one is meant.

use std::fmt::Display;
use std::ops::Range;
use std::sync::Arc;

use device_attributes::one_line;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Mistake, Mistakes, Place};

/// The most mistakes that are listed: a file that is something else has thousands.
const MISTAKES: usize = 16;
/// The most bytes of a file's text that a message repeats.
pub(super) const EXCERPT: usize = 64;

/// One file while it is read: its lines, and the mistakes found so far.
pub(super) struct Reader {
    file: Arc<str>,
    text: String,
    /// The offset at which each line begins.
    lines: Vec<usize>,
    /// Each with the offset of its place, the first of them by that.
    mistakes: Vec<(usize, String)>,
    /// How many there are behind these.
    more: usize,
}

impl Reader {
    /// Reads `text` with `read`, which is handed the file's top table.
    pub(super) fn read<T>(
        file: &str,
        text: &str,
        read: impl FnOnce(&mut Table<'_>) -> T,
    ) -> Result<T, Mistakes> {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let mut reader = Self {
            file: file.into(),
            text: text.to_owned(),
            lines: [0].into_iter().chain(ends.map(|(at, _)| at + 1)).collect(),
            mistakes: Vec::new(),
            more: 0,
        };
        let document = DeTable::parse(text).map_err(|error| {
            reader.mistake(error.span().unwrap_or_default(), error.message());
            reader.told()
        })?;
        let result = reader.table(document.get_ref(), document.span(), read);
        if reader.mistakes.is_empty() {
            Ok(result)
        } else {
            Err(reader.told())
        }
    }

    pub(super) fn table<T>(
        &mut self,
        table: &DeTable<'_>,
        span: Range<usize>,
        read: impl FnOnce(&mut Table<'_>) -> T,
    ) -> T {
        let mut table = Table {
            reader: self,
            entries: table,
            span,
            known: Vec::new(),
        };
        let result = read(&mut table);
        table.refuse_unknown();
        result
    }

    pub(super) fn mistake(&mut self, span: Range<usize>, message: impl Display) {
        // By their place, since a table's keys are read in the order that the code has them.
        let at = self
            .mistakes
            .partition_point(|(offset, _)| *offset <= span.start);
        if at < MISTAKES {
            self.mistakes.insert(at, (span.start, message.to_string()));
        } else {
            self.more += 1;
        }
        if self.mistakes.len() > MISTAKES {
            self.mistakes.pop();
            self.more += 1;
        }
    }

    /// The mistakes with their places.
    fn told(&self) -> Mistakes {
        let with_place = |(offset, message): &(usize, String)| Mistake {
            place: self.place(*offset),
            message: message.clone(),
        };
        Mistakes {
            first: self.mistakes.iter().map(with_place).collect(),
            more: self.more,
        }
    }

    fn place(&self, offset: usize) -> Place {
        let line = self.lines.partition_point(|begin| *begin <= offset);
        let begin = self.lines.get(line.saturating_sub(1)).copied();
        let before = self.text.get(begin.unwrap_or_default()..offset);
        Place {
            file: self.file.clone(),
            line,
            column: before.map_or(0, |before| before.chars().count()) + 1,
        }
    }

    pub(super) fn wrong_type(&mut self, value: &Value<'_>, expected: &str) {
        let found = value.get_ref().type_str();
        self.mistake(value.span(), format!("expected {expected}, found {found}"));
    }
}

pub(super) type Value<'a> = Spanned<DeValue<'a>>;

/// One table while it is read. A key that was never asked for is a mistake.
pub(super) struct Table<'a> {
    pub(super) reader: &'a mut Reader,
    entries: &'a DeTable<'a>,
    span: Range<usize>,
    known: Vec<&'static str>,
}

impl Table<'_> {
    /// The value of a key, read by `read`; none when the key is absent or its value is a mistake.
    pub(super) fn key<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&mut Reader, &Value<'_>) -> Option<T>,
    ) -> Option<T> {
        self.known.push(key);
        read(self.reader, self.entries.get(key)?)
    }

    /// The same for a key that must be there.
    pub(super) fn required<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&mut Reader, &Value<'_>) -> Option<T>,
    ) -> Option<T> {
        if !self.has(key) {
            let message = format!("the key `{key}` is missing");
            self.mistake(message);
        }
        self.key(key, read)
    }

    /// Whether the key is there, whatever its value.
    pub(super) fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// Where the key is.
    pub(super) fn place(&self, key: &str) -> Option<Place> {
        let (key, _) = self.entries.get_key_value(key)?;
        Some(self.reader.place(key.span().start))
    }

    /// A mistake of the table as a whole.
    pub(super) fn mistake(&mut self, message: impl Display) {
        self.reader.mistake(self.span.clone(), message);
    }

    /// A mistake of a key that is there.
    pub(super) fn mistake_at(&mut self, key: &str, message: impl Display) {
        match self.entries.get_key_value(key) {
            Some((key, _)) => self.reader.mistake(key.span(), message),
            None => self.mistake(message),
        }
    }

    fn refuse_unknown(&mut self) {
        for (key, _) in self.entries {
            let name: &str = key.get_ref();
            if self.known.contains(&name) {
                continue;
            }
            let name = one_line(name, EXCERPT);
            let message = match nearest(&name, &self.known) {
                Some(nearest) => format!("unknown key `{name}`: did you mean `{nearest}`?"),
                None => format!(
                    "unknown key `{name}`: the keys here are {}",
                    self.known.join(", ")
                ),
            };
            self.reader.mistake(key.span(), message);
        }
    }
}

/// The known key that was most likely meant.
fn nearest(name: &str, known: &[&'static str]) -> Option<&'static str> {
    // `set_mac`, `setMac` and `Set-MAC` differ from `set-mac` in spelling alone.
    let spelled = |text: &str| -> String {
        let letters = text.chars().filter(char::is_ascii_alphanumeric);
        letters.map(|letter| letter.to_ascii_lowercase()).collect()
    };
    let name = spelled(name);
    // A slip in every third letter is still a slip.
    let most = (name.len() / 3).max(1);
    known
        .iter()
        .map(|key| (strsim::osa_distance(&name, &spelled(key)), *key))
        .filter(|(distance, _)| *distance <= most)
        .min()
        .map(|(_, key)| key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_key_is_found_and_a_far_one_is_not() {
        let known = ["rename", "mtu", "set-mac", "alternative-names", "rp-filter"];
        for (name, expected) in [
            ("renam", Some("rename")),
            ("set_mac", Some("set-mac")),
            ("setMac", Some("set-mac")),
            ("mut", Some("mtu")),
            ("alternative-name", Some("alternative-names")),
            ("rp_filter", Some("rp-filter")),
            ("gateway", None),
            ("", None),
            ("\u{202e}", None),
        ] {
            assert_eq!(nearest(name, &known), expected, "{name}");
        }
    }

    #[test]
    fn a_place_counts_characters_and_lines() {
        let error = Reader::read("f", "\n# größe\n\"ö\" = 1\na = 2", |_| ()).unwrap_err();
        let told = error.to_string();
        assert!(
            told.starts_with("f:3:1: unknown key `ö`") && told.contains("\nf:4:1: unknown key `a`"),
            "{told}"
        );
    }

    #[test]
    fn a_file_of_mistakes_is_told_in_few_words() {
        let text = format!("device = [{}]", "{mtu = 0}, ".repeat(5000));
        let error = crate::policy::Policy::parse("f", &text)
            .unwrap_err()
            .to_string();
        assert_eq!(error.lines().count(), MISTAKES + 1);
        let told = format!("f: mistakes behind these: {}", 5000 - MISTAKES);
        assert_eq!(error.lines().last(), Some(told.as_str()));
    }
}
