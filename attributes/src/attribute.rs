//! The attributes of a device, as its driver publishes them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The value of an attribute: one kind of `resource.k8s.io/v1` `DeviceAttribute`, lists included.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AttributeValue {
    /// A number.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// A text.
    String(String),
    /// A semantic version.
    Version(String),
    /// Numbers.
    Ints(Vec<i64>),
    /// Truth values.
    Bools(Vec<bool>),
    /// Texts.
    Strings(Vec<String>),
    /// Semantic versions.
    Versions(Vec<String>),
}

/// Reads attributes, refusing a key that stands twice: a map of serde's would keep the last.
pub(crate) fn unique_attributes<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, AttributeValue>, D::Error> {
    struct Attributes;
    impl<'de> serde::de::Visitor<'de> for Attributes {
        type Value = BTreeMap<String, AttributeValue>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object of attributes")
        }

        // The API server's own files write `null` for a map that was never set.
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(BTreeMap::new())
        }

        fn visit_map<A: serde::de::MapAccess<'de>>(
            self,
            mut access: A,
        ) -> Result<Self::Value, A::Error> {
            let mut attributes = BTreeMap::new();
            while let Some(key) = access.next_key::<String>()? {
                if attributes.contains_key(&key) {
                    let key = crate::error::excerpt(&key);
                    return Err(serde::de::Error::custom(format!("duplicate key {key:?}")));
                }
                attributes.insert(key, access.next_value()?);
            }
            Ok(attributes)
        }
    }
    deserializer.deserialize_any(Attributes)
}
