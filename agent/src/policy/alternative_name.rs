//! Alternative names of network interfaces.

use std::fmt;
use std::str::FromStr;

use device_attributes::one_line;
use serde::{Deserialize, Serialize};

/// A name beside an interface's own, which tools take in its place (`ip link show NAME`).
///
/// At most 127 bytes (`ALTIFNAMSIZ` in `include/uapi/linux/if.h`), without `/`, `:`, `%`, white space
/// and control characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AlternativeName(String);

impl AlternativeName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for AlternativeName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shown = one_line(text, 64);
        if text.is_empty() {
            return Err("an alternative name cannot be empty".to_owned());
        }
        if text.len() > 127 {
            let length = text.len();
            return Err(format!(
                "{shown:?} is {length} bytes long: an alternative name has at most 127"
            ));
        }
        let unfit = |c: char| matches!(c, '/' | ':' | '%') || c.is_whitespace() || c.is_control();
        if text.contains(unfit) || matches!(text, "." | ".." | "all" | "default" | "lo") {
            return Err(format!(
                "{shown:?} cannot be an alternative name: '/', ':', '%', spaces and control \
                 characters are not allowed, nor a name with a meaning of its own"
            ));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for AlternativeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for AlternativeName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<AlternativeName> for String {
    fn from(name: AlternativeName) -> Self {
        name.0
    }
}
