//! PCI addresses with domains of up to 32 bits.

use std::fmt;
use std::str::FromStr;

/// The address of one PCI function: domain, bus, slot, function.
///
/// Written as Linux writes it in sysfs (`%04x:%02x:%02x.%d`): the domain has at least four digits
/// and more where it needs them, as Intel VMD (`10000:…`) and Hyper-V do. Read in upper or lower case, with
/// or without the domain (`65:00.0` is `0000:65:00.0`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PciAddress {
    domain: u32,
    bus: u8,
    slot: u8,
    function: u8,
}

/// Why a text is no [`PciAddress`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PciError {
    /// Not `domain:bus:slot.function` in hexadecimal digits.
    #[error("{0:?} is not a PCI address: domain:bus:slot.function is expected, like 0000:3b:00.1")]
    Format(String),
    /// A slot above 1f or a function above 7.
    #[error("{0:?} is not a PCI address: the slot goes up to 1f, the function up to 7")]
    Range(String),
}

impl PciAddress {
    /// The domain (segment group).
    pub fn domain(self) -> u32 {
        self.domain
    }

    /// The bus, 0 to 255.
    pub fn bus(self) -> u8 {
        self.bus
    }

    /// The slot (device), 0 to 31.
    pub fn slot(self) -> u8 {
        self.slot
    }

    /// The function, 0 to 7.
    pub fn function(self) -> u8 {
        self.function
    }
}

/// Hexadecimal digits only, as many as `widths` allows: `from_str_radix` alone would take a sign.
fn hex(text: &str, widths: std::ops::RangeInclusive<usize>) -> Option<u32> {
    if !widths.contains(&text.len()) || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(text, 16).ok()
}

impl FromStr for PciAddress {
    type Err = PciError;

    fn from_str(text: &str) -> Result<Self, PciError> {
        let bad = || PciError::Format(crate::error::excerpt(text));
        let (rest, function) = text.rsplit_once('.').ok_or_else(bad)?;
        let mut parts = rest.rsplit(':');
        let slot = parts
            .next()
            .and_then(|part| hex(part, 1..=2))
            .ok_or_else(bad)?;
        let bus = parts
            .next()
            .and_then(|part| hex(part, 1..=2))
            .ok_or_else(bad)?;
        let domain = match parts.next() {
            None => 0,
            Some(part) => {
                let digits = part
                    .strip_prefix("0x")
                    .or_else(|| part.strip_prefix("0X"))
                    .unwrap_or(part);
                hex(digits, 1..=8).ok_or_else(bad)?
            }
        };
        if parts.next().is_some() {
            return Err(bad());
        }
        let function = hex(function, 1..=1).ok_or_else(bad)?;
        if slot > 0x1f || function > 7 {
            return Err(PciError::Range(crate::error::excerpt(text)));
        }
        let byte = |value: u32| u8::try_from(value).map_err(|_| bad());
        Ok(Self {
            domain,
            bus: byte(bus)?,
            slot: byte(slot)?,
            function: byte(function)?,
        })
    }
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:04x}:{:02x}:{:02x}.{:x}",
            self.domain, self.bus, self.slot, self.function
        )
    }
}

crate::text::text_serde!(PciAddress, "a PCI address");

#[cfg(test)]
mod tests {
    use super::*;

    // ghw#372, hwloc#354, pciutils#184 (case 25); hgst/libnvme#2, cloudstack#12981 (case 26).
    #[test]
    fn every_spelling_becomes_the_one_of_sysfs() {
        for (text, canonical) in [
            ("0000:3b:02.1", "0000:3b:02.1"),
            ("65:00.0", "0000:65:00.0"),
            ("0X0000:3B:1F.7", "0000:3b:1f.7"),
            ("10001:80:05.0", "10001:80:05.0"),
            ("20000:70:00.0", "20000:70:00.0"),
            ("abcdef12:00:00.0", "abcdef12:00:00.0"),
            ("0:1:2.3", "0000:01:02.3"),
        ] {
            let address: PciAddress = text.parse().unwrap();
            assert_eq!(address.to_string(), canonical);
            assert_eq!(canonical.parse::<PciAddress>().unwrap(), address);
        }
    }

    // hgst/libnvme#2, cloudstack#12981 (case 26).
    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "3b",
            "3b:00",
            "0000:3b:00",
            "0000:3b:00.",
            ".1",
            "0000:3b:00.1.2",
            "0000:3b:000.1",
            "g000:3b:00.1",
            "+000:3b:00.1",
            "123456789:3b:00.1",
            "1:0000:3b:00.1",
            "0000:3b:00.10",
            "0000:3b:00.1 ",
        ] {
            assert!(
                matches!(text.parse::<PciAddress>(), Err(PciError::Format(_))),
                "{text}"
            );
        }
        for text in ["0000:3b:20.0", "0000:3b:00.8"] {
            assert!(
                matches!(text.parse::<PciAddress>(), Err(PciError::Range(_))),
                "{text}"
            );
        }
    }

    // ghw#372, hwloc#354, pciutils#184 (case 25).
    #[test]
    fn order_is_that_of_the_numbers() {
        let mut list: Vec<PciAddress> = [
            "10000:00:00.0",
            "ffff:00:00.0",
            "0000:10:00.0",
            "0000:09:1f.7",
        ]
        .iter()
        .map(|text| text.parse().unwrap())
        .collect();
        list.sort();
        let sorted: Vec<String> = list.iter().map(ToString::to_string).collect();
        assert_eq!(
            sorted,
            [
                "0000:09:1f.7",
                "0000:10:00.0",
                "ffff:00:00.0",
                "10000:00:00.0"
            ]
        );
    }
}
