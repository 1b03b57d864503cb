//! Names of network interfaces.

use std::fmt;
use std::str::FromStr;

/// A name that the kernel accepts for a network interface.
///
/// At most 15 bytes, no `/`, `:`, white space or control byte, not `.` or `..` (`dev_valid_name` in
/// `net/core/dev.c`, for which the byte 0xa0 is white space, as it is in the UTF-8 of `à`). Refused beyond
/// that: `%`, since the kernel expands `eth%d`; what is not seen, or turns the direction of writing; `all`
/// and `default`, which `/proc/sys/net` uses for itself; `lo`, which is never a device's.
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
        "{0:?} cannot be an interface name: '/', ':', '%', spaces, control characters and letters with the byte 0xa0 are not allowed"
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
        let is_refused =
            |c: char| matches!(c, '/' | ':' | '%') || c.is_whitespace() || is_unseen(c);
        if text.chars().any(is_refused) || text.as_bytes().contains(&0xa0) {
            return Err(E::Character(text.to_owned()));
        }
        if matches!(text, "." | ".." | "all" | "default" | "lo") {
            return Err(E::Reserved(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }
}

/// Control and format characters (Unicode's categories Cc and Cf, as far as names could have them).
fn is_unseen(c: char) -> bool {
    let is_format = matches!(
        c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
    );
    is_format || c.is_control()
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
            // Bytes that the kernel takes for a space.
            "à",
            "\u{420}rr",
            "a\u{202e}b",
            "a\u{200b}",
            "\u{feff}net1",
        ] {
            assert!(name.parse::<InterfaceName>().is_err(), "{name:?}");
        }
    }
}
