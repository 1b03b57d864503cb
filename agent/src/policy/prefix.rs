//! Ranges of addresses: what a route leads to, what a rule looks at.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use device_attributes::one_line;
use serde::{Deserialize, Serialize};

/// An address family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Family {
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
}

impl Family {
    /// The family of an address.
    pub fn of(ip: IpAddr) -> Self {
        if ip.is_ipv4() { Self::Ipv4 } else { Self::Ipv6 }
    }

    /// The length of its addresses, in bits.
    pub fn bits(self) -> u8 {
        match self {
            Self::Ipv4 => 32,
            Self::Ipv6 => 128,
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ipv4 => "IPv4",
            Self::Ipv6 => "IPv6",
        })
    }
}

/// A range of addresses: `192.0.2.0/24`, `2001:db8::/32`, `0.0.0.0/0`. No bit is set beyond the
/// prefix: the kernel refuses such a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Prefix {
    ip: IpAddr,
    length: u8,
}

/// Why a text is no [`Prefix`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PrefixError {
    /// Not `address/length`, nor an address.
    #[error("{0:?} is not a range of addresses, like 192.0.2.0/24 or 2001:db8::/32")]
    Format(String),
    /// More bits than the family has.
    #[error(
        "{0:?} has a prefix length that its family does not have (IPv4 0 to 32, IPv6 0 to 128)"
    )]
    Length(String),
    /// Bits beyond the prefix.
    #[error("{given:?} has bits beyond its prefix length: write {meant}")]
    HostBits {
        /// The range as it was given.
        given: String,
        /// The range that it is in.
        meant: Prefix,
    },
}

impl Prefix {
    /// The range that an address of this prefix length is in; none when its family has no such
    /// length.
    pub fn around(ip: IpAddr, length: u8) -> Option<Self> {
        let bits = Family::of(ip).bits();
        let beyond = u32::from(bits.checked_sub(length)?);
        let ip = match ip {
            IpAddr::V4(ip) => {
                let mask = u32::MAX.checked_shl(beyond).unwrap_or(0);
                IpAddr::V4((ip.to_bits() & mask).into())
            }
            IpAddr::V6(ip) => {
                let mask = u128::MAX.checked_shl(beyond).unwrap_or(0);
                IpAddr::V6((ip.to_bits() & mask).into())
            }
        };
        Some(Self { ip, length })
    }

    /// The first address.
    pub fn ip(self) -> IpAddr {
        self.ip
    }

    /// The prefix length in bits.
    pub fn length(self) -> u8 {
        self.length
    }

    /// Its family.
    pub fn family(self) -> Family {
        Family::of(self.ip)
    }

    /// Whether it is every address of the family, as the default route's.
    pub fn is_default(self) -> bool {
        self.length == 0
    }

    /// Whether an address is in it.
    pub fn contains(self, ip: IpAddr) -> bool {
        Self::around(ip, self.length) == Some(self)
    }
}

impl FromStr for Prefix {
    type Err = PrefixError;

    /// An address alone is the range of that address.
    fn from_str(text: &str) -> Result<Self, PrefixError> {
        let bad = || PrefixError::Format(one_line(text, 64));
        let (ip, length) = match text.split_once('/') {
            Some((ip, length)) => (ip, Some(length)),
            None => (text, None),
        };
        let ip: IpAddr = ip.parse().map_err(|_| bad())?;
        let length = match length {
            None => Family::of(ip).bits(),
            Some(digits) if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) => {
                return Err(bad());
            }
            Some(digits) => digits
                .parse()
                .map_err(|_| PrefixError::Length(one_line(text, 64)))?,
        };
        let meant =
            Self::around(ip, length).ok_or_else(|| PrefixError::Length(one_line(text, 64)))?;
        if meant.ip == ip {
            Ok(meant)
        } else {
            let given = one_line(text, 64);
            Err(PrefixError::HostBits { given, meant })
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.ip, self.length)
    }
}

impl TryFrom<String> for Prefix {
    type Error = PrefixError;

    fn try_from(text: String) -> Result<Self, PrefixError> {
        text.parse()
    }
}

impl From<Prefix> for String {
    fn from(prefix: Prefix) -> Self {
        prefix.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_written_in_one_way() {
        for (text, canonical) in [
            ("192.0.2.0/24", "192.0.2.0/24"),
            ("192.0.2.5", "192.0.2.5/32"),
            ("0.0.0.0/0", "0.0.0.0/0"),
            ("2001:DB8:0::/32", "2001:db8::/32"),
            ("2001:db8::1", "2001:db8::1/128"),
            ("::/0", "::/0"),
        ] {
            let prefix: Prefix = text.parse().unwrap();
            assert_eq!(prefix.to_string(), canonical);
        }
    }

    #[test]
    fn what_is_no_range_is_refused_with_what_is_meant() {
        let refused = |text: &str| text.parse::<Prefix>().unwrap_err().to_string();
        assert!(refused("192.0.2.5/24").ends_with("write 192.0.2.0/24"));
        assert!(refused("2001:db8::1/64").ends_with("write 2001:db8::/64"));
        assert!(refused("192.0.2.0/33").contains("IPv4 0 to 32"));
        assert!(refused("192.0.2.0/999").contains("IPv4 0 to 32"));
        for text in [
            "",
            "/",
            "192.0.2.0/",
            "192.0.2.0/+8",
            "default",
            "fe80::1%eth0/64",
        ] {
            assert!(refused(text).contains("is not a range"), "{text}");
        }
    }

    #[test]
    fn a_range_contains_its_family_alone() {
        let contains = |prefix: &str, ip: &str| {
            let prefix: Prefix = prefix.parse().unwrap();
            prefix.contains(ip.parse().unwrap())
        };
        assert!(contains("192.0.2.0/24", "192.0.2.255"));
        assert!(!contains("192.0.2.0/24", "192.0.3.0"));
        assert!(contains("::/0", "2001:db8::1"));
        assert!(!contains("::/0", "192.0.2.1"));
        assert!(!contains("2001:db8::/64", "192.0.2.1"));
    }
}
