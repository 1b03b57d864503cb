//! MAC addresses: the one identity that means the same thing on the host and in the guest.

use std::fmt;
use std::str::FromStr;

use crate::hexadecimal::pair;

/// A 48-bit hardware address that can belong to one network interface.
///
/// Never zero and never multicast: the kernel refuses both as an interface's address
/// (`EADDRNOTAVAIL`, `is_valid_ether_addr` in `include/linux/etherdevice.h`), and a zero address
/// in metadata means "not known".
///
/// Read from any of the usual spellings (`52:54:00:ab:cd:ef`, `52-54-00-AB-CD-EF`,
/// `5254.00ab.cdef`, `525400abcdef`), written as lower-case pairs with colons.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddress([u8; 6]);

/// Why a text or a byte sequence is no [`MacAddress`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MacError {
    /// Not twelve hexadecimal digits in one of the known groupings.
    #[error(
        "{0:?} is not a MAC address: twelve hexadecimal digits are expected, like 52:54:00:ab:cd:ef"
    )]
    Format(String),
    /// All bits zero.
    #[error("the MAC address is all zero, which stands for \"not known\": leave the key out")]
    Zero,
    /// The group bit is set.
    #[error("{0} is a multicast address, which no network interface can have")]
    Multicast(String),
}

impl MacAddress {
    /// Takes the six bytes in transmission order.
    ///
    /// # Errors
    /// When they are all zero or have the group bit set.
    pub fn from_bytes(bytes: [u8; 6]) -> Result<Self, MacError> {
        if bytes == [0; 6] {
            return Err(MacError::Zero);
        }
        let [first, ..] = bytes;
        if first & 1 == 1 {
            return Err(MacError::Multicast(Self(bytes).to_string()));
        }
        Ok(Self(bytes))
    }

    /// The six bytes in transmission order.
    pub fn bytes(self) -> [u8; 6] {
        self.0
    }
}

impl FromStr for MacAddress {
    type Err = MacError;

    fn from_str(text: &str) -> Result<Self, MacError> {
        let bad = || MacError::Format(crate::error::excerpt(text));
        let group_length = match text.len() {
            17 if text.contains(':') => Some((':', 2)),
            17 => Some(('-', 2)),
            14 => Some(('.', 4)),
            12 => None,
            _ => return Err(bad()),
        };
        let mut digits = String::with_capacity(12);
        match group_length {
            None => digits.push_str(text),
            Some((separator, length)) => {
                for group in text.split(separator) {
                    if group.len() != length {
                        return Err(bad());
                    }
                    digits.push_str(group);
                }
            }
        }
        if digits.len() != 12 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(bad());
        }
        let value = u64::from_str_radix(&digits, 16).map_err(|_| bad())?;
        let [_, _, bytes @ ..] = value.to_be_bytes();
        Self::from_bytes(bytes)
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups = self.0.map(|byte| {
            let [high, low] = pair(byte);
            [high, low, b':']
        });
        let text = groups.as_flattened().split_last().map(|(_, text)| text);
        f.write_str(str::from_utf8(text.unwrap_or_default()).map_err(|_| fmt::Error)?)
    }
}

crate::text::text_serde!(MacAddress, "a MAC address");

#[cfg(test)]
mod tests {
    use super::*;

    // cloud-init LP#1705147 (case 10).
    #[test]
    fn every_usual_spelling_is_one_address() {
        for text in [
            "52:54:00:ab:cd:ef",
            "52:54:00:AB:CD:EF",
            "52-54-00-ab-cd-ef",
            "5254.00ab.cdef",
            "525400abcdef",
        ] {
            assert_eq!(
                text.parse::<MacAddress>().unwrap().to_string(),
                "52:54:00:ab:cd:ef",
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "52:54:00:ab:cd",
            "52:54:00:ab:cd:e",
            "52:54:00:ab:cd:ef:00",
            "1:2:3:4:5:6",
            "52:54-00:ab:cd:ef",
            "52:54:00:ab:cd:eg",
            "+2:54:00:ab:cd:ef",
            "5254:00ab:cdef:",
            "5254.00ab-cdef",
            "5254.00ab.cd.f",
            "52 54 00 ab cd ef",
            "５２:54:00:ab:cd",
            "00:00:00:00",
        ] {
            assert!(
                matches!(text.parse::<MacAddress>(), Err(MacError::Format(_))),
                "{text}"
            );
        }
    }

    // cloud-init LP#1692028 (case 9).
    #[test]
    fn addresses_that_no_interface_has_are_refused() {
        assert_eq!(
            "00:00:00:00:00:00".parse::<MacAddress>(),
            Err(MacError::Zero)
        );
        assert!(matches!(
            "01:00:5e:00:00:01".parse::<MacAddress>(),
            Err(MacError::Multicast(_))
        ));
        assert!(matches!(
            "ff:ff:ff:ff:ff:ff".parse::<MacAddress>(),
            Err(MacError::Multicast(_))
        ));
    }
}
