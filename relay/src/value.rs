//! A JSON or YAML value that keeps its keys in the order of the file.

use std::fmt;

use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap as _, SerializeSeq as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Any value of a manifest.
///
/// A map is a list of pairs: manifests are small, people order them, and what is rewritten has to
/// look like what was read. A key that stands twice is refused.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Value {
    /// Nothing. The API's own files write it for a list that was never set.
    #[default]
    Null,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A whole number above [`i64::MAX`].
    Unsigned(u64),
    /// Any other number.
    Float(f64),
    /// A text.
    Text(String),
    /// Values in order.
    List(Vec<Value>),
    /// Keys and values in the order of the file.
    Map(Vec<(String, Value)>),
}

impl Value {
    /// What stands under a key, if this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Self::Map(pairs) => pairs.iter().find(|(k, _)| k == key).map(|(_, v)| v),
            _ => None,
        }
    }

    /// What stands at the end of a path of keys.
    pub fn at(&self, path: &[&str]) -> Option<&Value> {
        path.iter().try_fold(self, |value, key| value.get(key))
    }

    /// The text under a key.
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.get(key) {
            Some(Self::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The list under a key; `null` and an absent key are the empty list.
    ///
    /// # Errors
    /// The key's value is something else.
    pub fn list(&self, key: &str) -> Result<&[Value], WrongShape> {
        match self.get(key) {
            None | Some(Self::Null) => Ok(&[]),
            Some(Self::List(items)) => Ok(items),
            Some(_) => Err(WrongShape::new(key, "a list")),
        }
    }

    /// The list under a key, made if it is absent or `null`.
    ///
    /// # Errors
    /// The key's value is something else, or this is no map.
    pub fn list_mut(&mut self, key: &str) -> Result<&mut Vec<Value>, WrongShape> {
        let value = self.entry(key)?;
        if *value == Self::Null {
            *value = Self::List(Vec::new());
        }
        match value {
            Self::List(items) => Ok(items),
            _ => Err(WrongShape::new(key, "a list")),
        }
    }

    /// The value under a key, made as `null` at the end of the map if it is absent; a `null` in
    /// the place of this map becomes an empty map first.
    ///
    /// # Errors
    /// This is no map.
    pub fn entry(&mut self, key: &str) -> Result<&mut Value, WrongShape> {
        if *self == Self::Null {
            *self = Self::Map(Vec::new());
        }
        let Self::Map(pairs) = self else {
            return Err(WrongShape::new(key, "inside an object"));
        };
        let index = pairs.iter().position(|(k, _)| k == key).unwrap_or_else(|| {
            pairs.push((key.to_owned(), Self::Null));
            pairs.len() - 1
        });
        pairs
            .get_mut(index)
            .map(|(_, value)| value)
            .ok_or_else(|| WrongShape::new(key, "inside an object"))
    }

    /// Puts a text under a key of this map, and says whether that changed anything.
    ///
    /// # Errors
    /// This is no map.
    pub fn set_text(&mut self, key: &str, text: &str) -> Result<bool, WrongShape> {
        let value = self.entry(key)?;
        if matches!(value, Self::Text(old) if old == text) {
            return Ok(false);
        }
        *value = Self::Text(text.to_owned());
        Ok(true)
    }
}

/// A value that is not of the kind that its key asks for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key:?} is not {expected}")]
pub struct WrongShape {
    key: String,
    expected: &'static str,
}

impl WrongShape {
    fn new(key: &str, expected: &'static str) -> Self {
        Self {
            key: key.to_owned(),
            expected,
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Integer(value) => serializer.serialize_i64(*value),
            Self::Unsigned(value) => serializer.serialize_u64(*value),
            Self::Float(value) => serializer.serialize_f64(*value),
            Self::Text(value) => serializer.serialize_str(value),
            Self::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(item)?;
                }
                list.end()
            }
            Self::Map(pairs) => {
                let mut map = serializer.serialize_map(Some(pairs.len()))?;
                for (key, value) in pairs {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(i64::try_from(value).map_or(Value::Unsigned(value), Value::Integer))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut pairs: Vec<(String, Value)> = Vec::new();
        while let Some(key) = access.next_key::<String>()? {
            if pairs.iter().any(|(k, _)| *k == key) {
                return Err(de::Error::custom(format!("duplicate key {key:?}")));
            }
            pairs.push((key, access.next_value()?));
        }
        Ok(Value::Map(pairs))
    }
}
