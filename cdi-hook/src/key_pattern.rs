//! Patterns for the names of attributes.

use std::fmt;
use std::str::FromStr;

use device_attributes::Name;

use crate::glob;

/// An attribute's qualified name, like `resource.kubernetes.io/pciBusID`, or a pattern of such names
/// with `*` for any text and `?` for one character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPattern(String);

/// Why a text is no [`KeyPattern`].
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this is no name of an attribute: letters, digits, '-', '.', '_', '/' or ':' are expected, and * or ? in a pattern"
)]
pub struct KeyPatternError;

impl KeyPattern {
    /// The pattern.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it means this attribute.
    pub fn matches(&self, key: &str) -> bool {
        glob::matches(&self.0, key)
    }
}

impl FromStr for KeyPattern {
    type Err = KeyPatternError;

    fn from_str(text: &str) -> Result<Self, KeyPatternError> {
        let name = text.replace(['*', '?'], "x");
        match name.parse::<Name>() {
            Ok(_) => Ok(Self(text.to_owned())),
            Err(_) => Err(KeyPatternError),
        }
    }
}

impl fmt::Display for KeyPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_patterns_of_them_are_taken() {
        for text in ["resource.kubernetes.io/*", "numaNode", "*", "a?b/c"] {
            assert_eq!(text.parse::<KeyPattern>().unwrap().as_str(), text);
        }
        for text in ["", "a b", "a\n", "[ab]", "ä*"] {
            assert_eq!(text.parse::<KeyPattern>(), Err(KeyPatternError), "{text:?}");
        }
    }
}
