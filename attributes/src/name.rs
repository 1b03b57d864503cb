//! Names that Kubernetes gives to claims, requests, drivers, pools and devices.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A name of the Kubernetes API: 1 to 253 bytes of letters, digits and `-._/:`.
///
/// Wider than each single rule of the API (a request may be `gpu/high-memory`, a pool
/// `zone/rack`), and narrow enough to be printed to a terminal or put in a file as it is. A copy shares
/// the text: what names a device goes with it through every step.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

/// Why a text is no [`Name`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a Kubernetes name: 1 to 253 letters, digits, '-', '.', '_', '/' or ':' are expected"
)]
pub struct NameError(String);

impl Name {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let fits = (1..=253).contains(&text.len())
            && text.bytes().all(|b| {
                b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'/' | b':')
            });
        if fits {
            Ok(Self(text.into()))
        } else {
            Err(NameError(crate::error::excerpt(text)))
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

crate::text::text_serde!(Name, "a Kubernetes name");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        for name in [
            "vm-nic-7xk2p",
            "gpu/high-memory",
            "sriov.example.com",
            "0000-3b-02-1",
            "a",
        ] {
            assert_eq!(name.parse::<Name>().unwrap().as_str(), name);
        }
        for name in ["", "a b", "a\nb", "a\u{1b}[31m", "ä", &"x".repeat(254)] {
            assert!(name.parse::<Name>().is_err(), "{name:?}");
        }
    }
}
