//! Paths of fields inside a JSON value, and the way along them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde_json::value::RawValue;

/// The path of a field, like `devices[1].network.macAddress`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FieldPath(pub(super) Vec<Segment>);

/// One step of a [`FieldPath`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Segment {
    /// Into the member of an object.
    Key(String),
    /// Into the item of an array.
    Index(usize),
}

impl FieldPath {
    /// The path of a member of the outermost object.
    pub(super) fn key(key: &str) -> Self {
        Self::default().and(key)
    }

    /// The path of a member of the object that this one leads to.
    pub(super) fn and(&self, key: &str) -> Self {
        let mut path = self.clone();
        path.0.push(Segment::Key(key.to_owned()));
        path
    }

    /// The path of an item of the array that this one leads to.
    pub(super) fn at(&self, index: usize) -> Self {
        let mut path = self.clone();
        path.0.push(Segment::Index(index));
        path
    }

    /// This path, then the other.
    pub(super) fn join(&self, below: &Self) -> Self {
        let mut path = self.clone();
        path.0.extend_from_slice(&below.0);
        path
    }

    /// The path for messages: none for the outermost value.
    pub(super) fn field(&self) -> Option<String> {
        (!self.0.is_empty()).then(|| self.to_string())
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Key(key) if is_plain(key) => {
                    let dot = if position == 0 { "" } else { "." };
                    write!(f, "{dot}{key}")?;
                }
                Segment::Key(key) => write!(f, "[{:?}]", crate::error::excerpt(key))?,
            }
        }
        Ok(())
    }
}

fn is_plain(key: &str) -> bool {
    (1..=80).contains(&key.len())
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

impl From<&serde_ignored::Path<'_>> for FieldPath {
    fn from(path: &serde_ignored::Path<'_>) -> Self {
        use serde_ignored::Path as P;
        match path {
            P::Root => Self::default(),
            P::Seq { parent, index } => Self::from(*parent).at(*index),
            P::Map { parent, key } => Self::from(*parent).and(key),
            P::Some { parent } | P::NewtypeStruct { parent } | P::NewtypeVariant { parent } => {
                Self::from(*parent)
            }
        }
    }
}

/// The members of an object, by their keys.
pub(super) type Members<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

/// The members of an object; none when the value is no object.
pub(super) fn members(value: &RawValue) -> Option<Members<'_>> {
    #[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
    struct Key<'a>(#[serde(borrow)] Cow<'a, str>);
    let members: BTreeMap<Key<'_>, &RawValue> = serde_json::from_str(value.get()).ok()?;
    Some(
        members
            .into_iter()
            .map(|(Key(key), value)| (key, value))
            .collect(),
    )
}

/// The value that a path leads to, or the last on the way that there is.
pub(super) fn locate<'a>(value: &'a RawValue, path: &FieldPath) -> &'a RawValue {
    let mut here = value;
    for segment in &path.0 {
        let next = match segment {
            Segment::Key(key) => {
                members(here).and_then(|members| members.get(key.as_str()).copied())
            }
            Segment::Index(index) => serde_json::from_str::<Vec<&RawValue>>(here.get())
                .ok()
                .and_then(|items| items.get(*index).copied()),
        };
        let Some(next) = next else { break };
        here = next;
    }
    here
}

/// The innermost value around an offset in the text of `value`, and the path that leads there.
///
/// A value is around its first byte and the place behind its last: a separator stands between any
/// two.
pub(super) fn around(value: &RawValue, offset: usize) -> (FieldPath, &RawValue) {
    let start = |part: &RawValue| part.get().as_ptr().addr() - value.get().as_ptr().addr();
    let holds = |part: &RawValue| (start(part)..=start(part) + part.get().len()).contains(&offset);
    let mut path = FieldPath::default();
    let mut here = value;
    loop {
        let member = members(here).and_then(|members| {
            let found = members.into_iter().find(|(_, part)| holds(part));
            found.map(|(key, part)| (Segment::Key(key.into_owned()), part))
        });
        let next = member.or_else(|| {
            let items: Vec<&RawValue> = serde_json::from_str(here.get()).ok()?;
            let found = items.into_iter().enumerate().find(|(_, part)| holds(part));
            found.map(|(index, part)| (Segment::Index(index), part))
        });
        let Some((segment, part)) = next else {
            return (path, here);
        };
        path.0.push(segment);
        here = part;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_read_like_the_code_that_would_follow_them() {
        let path = FieldPath::key("devices").at(1).and("attributes");
        assert_eq!(path.to_string(), "devices[1].attributes");
        assert_eq!(
            path.and("resource.kubernetes.io/numaNode")
                .and("int")
                .to_string(),
            "devices[1].attributes[\"resource.kubernetes.io/numaNode\"].int"
        );
        assert_eq!(
            FieldPath::key("a\u{1b}[31m").to_string(),
            "[\"a\\u{1b}[31m\"]"
        );
        assert_eq!(FieldPath::default().field(), None);
    }

    #[test]
    fn a_path_is_followed_as_far_as_it_goes() {
        let value: &RawValue = serde_json::from_str(r#"{"a": [0, {"b\n": true}]}"#).unwrap();
        let path = FieldPath::key("a").at(1);
        assert_eq!(locate(value, &path.and("b\n")).get(), "true");
        assert_eq!(locate(value, &path.and("absent")).get(), r#"{"b\n": true}"#);
        assert_eq!(
            locate(value, &FieldPath::key("a").at(7)).get(),
            r#"[0, {"b\n": true}]"#
        );
    }

    #[test]
    fn the_value_around_a_place_is_found() {
        let text = r#"{"a": [0, {"b": true}], "c": 1}"#;
        let value: &RawValue = serde_json::from_str(text).unwrap();
        let found = |offset| around(value, offset).0.to_string();
        assert_eq!(found(0), "");
        assert_eq!(found(text.find("true").unwrap()), "a[1].b");
        assert_eq!(found(text.find("true").unwrap() + 4), "a[1].b");
        assert_eq!(found(text.find("true").unwrap() - 1), "a[1]");
        assert_eq!(found(text.find("[0").unwrap()), "a");
        assert_eq!(found(text.len() - 1), "c");
        assert_eq!(found(text.len()), "");
    }
}
