//! One JSON value into a type, with the field and the place of what does not fit.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::notes::Notes;
use super::path::{FieldPath, locate};
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
    let parsed = parse(source, value, place, |path| {
        let path = FieldPath::from(path);
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
    parse(source, value, place, |_| ())
}

fn parse<'a, T: Deserialize<'a>>(
    source: &Source<'a>,
    value: &'a RawValue,
    place: &FieldPath,
    ignored: impl FnMut(&serde_ignored::Path<'_>),
) -> Result<T, ReadError> {
    let mut ignored = ignored;
    let mut json = serde_json::Deserializer::from_str(value.get());
    let mut track = serde_path_to_error::Track::new();
    let tracked = serde_path_to_error::Deserializer::new(&mut json, &mut track);
    serde_ignored::deserialize(tracked, |path| ignored(&path)).map_err(|error| {
        let below = FieldPath::from(track.path());
        let part = locate(value, &below).get();
        let kind = ReadErrorKind::Invalid(words(&error));
        source.error(part, place.join(&below).field(), kind)
    })
}
