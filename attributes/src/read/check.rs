//! What holds for every JSON value before it is parsed into anything: its nesting and the keys of
//! each object are bounded, and no object has a key twice.
//!
//! All is checked in unknown keys too. `serde_json` itself would keep the last of two values
//! where it reads a map, and says nothing of keys that it passes over.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::path::{FieldPath, Segment};
use super::source::Source;
use crate::{ReadError, ReadErrorKind, limits};

/// Checks the value that `text` begins with.
pub(super) fn check(source: &Source<'_>, text: &str) -> Result<(), ReadError> {
    let mut walk = Walk {
        place: Vec::new(),
        failure: None,
    };
    let mut json = serde_json::Deserializer::from_str(text);
    let Err(error) = Value(&mut walk).deserialize(&mut json) else {
        return Ok(());
    };
    let Some(failure) = walk.failure else {
        return Err(source.json_error(text, &error));
    };
    Err(match failure {
        Failure::Bound(kind) => ReadError {
            position: Some(source.json_position(text, &error)),
            ..ReadError::file(source.file, kind)
        },
        Failure::Duplicate(key) => {
            let shown = crate::error::excerpt(&key);
            let kind =
                ReadErrorKind::Invalid(format!("the key {shown:?} stands twice in one object"));
            let above = walk.place.into_iter().map(Segment::from);
            let place = above.chain([Segment::Key(key.to_string())]);
            let field = Some(FieldPath(place.collect()).to_string());
            match key {
                // Borrowed from the text, so it knows its place: behind its opening quote.
                Cow::Borrowed(key) => source.error_at(source.offset(key) - 1, field, kind),
                Cow::Owned(_) => ReadError {
                    position: Some(source.json_position(text, &error)),
                    field,
                    ..ReadError::file(source.file, kind)
                },
            }
        }
    })
}

/// Where the walk is, and why it ended.
struct Walk<'de> {
    /// Into each object and array that is open.
    place: Vec<Entered<'de>>,
    failure: Option<Failure<'de>>,
}

/// A [`Segment`] that is borrowed from the text where it can be: mostly none is asked for.
enum Entered<'de> {
    Key(Cow<'de, str>),
    Index(usize),
}

impl From<Entered<'_>> for Segment {
    fn from(entered: Entered<'_>) -> Self {
        match entered {
            Entered::Key(key) => Self::Key(key.into_owned()),
            Entered::Index(index) => Self::Index(index),
        }
    }
}

enum Failure<'de> {
    Bound(ReadErrorKind),
    Duplicate(Cow<'de, str>),
}

impl<'de> Walk<'de> {
    fn enter<E: Error>(&mut self) -> Result<(), E> {
        if self.place.len() < limits::NESTING {
            Ok(())
        } else {
            Err(self.fail(Failure::Bound(ReadErrorKind::TooDeep)))
        }
    }

    fn fail<E: Error>(&mut self, failure: Failure<'de>) -> E {
        self.failure = Some(failure);
        E::custom("")
    }
}

#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

struct Value<'w, 'de>(&'w mut Walk<'de>);

impl<'de> DeserializeSeed<'de> for Value<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.0.enter()?;
        for index in 0.. {
            self.0.place.push(Entered::Index(index));
            if items.next_element_seed(Value(self.0))?.is_none() {
                break;
            }
            self.0.place.pop();
        }
        self.0.place.pop();
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        self.0.enter()?;
        let mut seen = BTreeSet::new();
        while let Some(Key(key)) = members.next_key()? {
            if seen.contains(&key) {
                return Err(self.0.fail(Failure::Duplicate(key)));
            }
            if seen.len() == limits::KEYS {
                return Err(self.0.fail(Failure::Bound(ReadErrorKind::TooManyKeys)));
            }
            self.0.place.push(Entered::Key(key.clone()));
            members.next_value_seed(Value(self.0))?;
            self.0.place.pop();
            seen.insert(key);
        }
        Ok(())
    }
}
