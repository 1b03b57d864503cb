//! One JSON value into a type, with the field and the place of what does not fit.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::notes::Notes;
use super::path::{FieldPath, around, locate};
use super::source::{Source, words};
use crate::{ReadError, ReadErrorKind, limits};

/// Parses a value that stands at `place`, and notes the keys that its type does not know.
///
/// Keys of `silent` (paths below `place`) are passed over without a note.
pub(super) fn noting<'a, T: Deserialize<'a>>(
    source: &Source<'a>,
    value: &'a RawValue,
    place: &FieldPath,
    silent: &[&str],
    notes: &mut Notes,
) -> Result<T, ReadError> {
    let mut unknown = Vec::new();
    let mut uncounted = 0;
    let parsed = parse(source, value, place, &mut |path| {
        let path = FieldPath::from(&path);
        if silent.contains(&path.to_string().as_str()) {
            return;
        }
        if unknown.len() < limits::NOTES {
            unknown.push(path);
        } else {
            uncounted += 1;
        }
    })?;
    for path in unknown {
        // Finding the place is what costs: a thousand devices may have a thousand such keys each.
        if notes.is_full() {
            notes.skip(1);
            continue;
        }
        let part = locate(value, &path).get();
        notes.unknown_key(source, part, &place.join(&path));
    }
    notes.skip(uncounted);
    Ok(parsed)
}

/// Parses a value that stands at `place`.
pub(super) fn plain<'a, T: Deserialize<'a>>(
    source: &Source<'a>,
    value: &'a RawValue,
    place: &FieldPath,
) -> Result<T, ReadError> {
    parse(source, value, place, &mut |_| ())
}

/// Takes the path of a key that is not known. One type for all callers: each closure of its own
/// would be a copy of the code of every type that is read.
type Ignored<'i> = dyn FnMut(serde_ignored::Path<'_>) + 'i;

fn parse<'a, T: Deserialize<'a>>(
    source: &Source<'a>,
    value: &'a RawValue,
    place: &FieldPath,
    ignored: &mut Ignored<'_>,
) -> Result<T, ReadError> {
    let mut json = serde_json::Deserializer::from_str(value.get());
    serde_ignored::deserialize(&mut json, ignored).map_err(|error| {
        // The parser says where it stopped; the field is the innermost value around that place.
        // Following the path while parsing would double the code of every type that is read.
        let (below, part) = around(value, offset(value.get(), &error));
        let kind = ReadErrorKind::Invalid(words(&error));
        source.error(part.get(), place.join(&below).field(), kind)
    })
}

/// Where the parser of `text` stopped, in bytes.
fn offset(text: &str, error: &serde_json::Error) -> usize {
    let lines = text.split_inclusive('\n');
    let before: usize = lines
        .take(error.line().saturating_sub(1))
        .map(str::len)
        .sum();
    before + error.column()
}
