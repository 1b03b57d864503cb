//! Names of network interfaces.

use std::fmt;
use std::str::FromStr;

/// A name that the kernel accepts for a network interface.
///
/// At most 15 bytes, no `/`, `:`, white space or control byte, not `.` or `..` (`dev_valid_name` in
/// `net/core/dev.c`). Refused beyond that: `%`, since the kernel expands `eth%d`; `all` and
/// `default`, which `/proc/sys/net` uses for itself; `lo`, which is never a device's.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterfaceName(String);

/// Why a text is no [`InterfaceName`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InterfaceNameError {
    /// Zero bytes.
    #[error("an interface name cannot be empty")]
    Empty,
    /// More than the kernel's IFNAMSIZ allows.
    #[error("{name:?} is {length} bytes long: an interface name has at most 15")]
    TooLong {
        /// The name as it was given.
        name: String,
        /// Its length in bytes.
        length: usize,
    },
    /// A byte that the kernel, or its name templates, do not take.
    #[error(
        "{0:?} cannot be an interface name: '/', ':', '%', spaces and control characters are not allowed"
    )]
    Character(String),
    /// A name with a meaning of its own.
    #[error("{0:?} cannot be an interface name: it is reserved")]
    Reserved(String),
}

impl InterfaceName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for InterfaceName {
    type Err = InterfaceNameError;

    fn from_str(text: &str) -> Result<Self, InterfaceNameError> {
        use InterfaceNameError as E;
        if text.is_empty() {
            return Err(E::Empty);
        }
        if text.len() > 15 {
            return Err(E::TooLong {
                name: crate::error::excerpt(text),
                length: text.len(),
            });
        }
        if text
            .chars()
            .any(|c| matches!(c, '/' | ':' | '%') || c.is_whitespace() || c.is_control())
        {
            return Err(E::Character(text.to_owned()));
        }
        if matches!(text, "." | ".." | "all" | "default" | "lo") {
            return Err(E::Reserved(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for InterfaceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

crate::text::text_serde!(InterfaceName, "an interface name");

#[cfg(test)]
mod tests {
    use super::*;

    // systemd#2407, firewalld#873 (case 33); Linux `net/core/dev.c` (case 34).
    #[test]
    fn names_follow_the_kernel() {
        for name in ["net1", "a", "enp129s0f0np0.1", "fifteen-bytes-x", "größe"] {
            assert_eq!(name.parse::<InterfaceName>().unwrap().as_str(), name);
        }
        for name in [
            "",
            "sixteen-bytes-xx",
            "a/b",
            "a:b",
            "eth%d",
            "a b",
            "a\tb",
            "a\0b",
            ".",
            "..",
            "all",
            "default",
            "lo",
            "ünfzehn-bytes-x",
            "a\u{a0}b",
        ] {
            assert!(name.parse::<InterfaceName>().is_err(), "{name:?}");
        }
    }
}
