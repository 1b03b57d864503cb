//! Addresses of network interfaces.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

/// An address with its prefix length, as one interface holds it: `192.0.2.5/24`, `2001:db8::5/64`.
///
/// The kernel would also take addresses that no host can use (0.0.0.0/0, multicast, the network's
/// own and its broadcast address, IPv4 mapped into IPv6); they are refused here.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterfaceAddress {
    ip: IpAddr,
    prefix: u8,
}

/// Why a text is no [`InterfaceAddress`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InterfaceAddressError {
    /// Not `address/prefix`.
    #[error("{0:?} is not an address with a prefix length, like 192.0.2.5/24 or 2001:db8::5/64")]
    Format(String),
    /// No `/` in it.
    #[error("{0:?} has no prefix length: write it as address/prefix, like 192.0.2.5/24")]
    NoPrefix(String),
    /// More bits than the family has.
    #[error(
        "{0:?} has a prefix length that its address family does not have (IPv4 0 to 32, IPv6 0 to 128)"
    )]
    Prefix(String),
    /// Well-formed, but nothing that an interface can use.
    #[error("{address:?} cannot be an interface's address: it is {what}")]
    Unusable {
        /// The address as it was given.
        address: String,
        /// What it is.
        what: &'static str,
    },
}

impl InterfaceAddress {
    /// Whether it is an IPv6 address of one link (`fe80::/10`, RFC 4291, section 2.5.6), of which the kernel
    /// makes one for every interface.
    pub fn is_ipv6_link_local(&self) -> bool {
        matches!(self.ip, IpAddr::V6(ip) if ip.is_unicast_link_local())
    }

    /// Makes one of parts that are known to fit.
    ///
    /// # Errors
    /// As for parsing.
    pub fn new(ip: IpAddr, prefix: u8) -> Result<Self, InterfaceAddressError> {
        use InterfaceAddressError as E;
        let address = Self { ip, prefix };
        if prefix > address.max_prefix() {
            return Err(E::Prefix(address.to_string()));
        }
        match address.unusable() {
            None => Ok(address),
            Some(what) => Err(E::Unusable {
                address: address.to_string(),
                what,
            }),
        }
    }

    /// The address without its prefix length.
    pub fn ip(self) -> IpAddr {
        self.ip
    }

    /// The prefix length in bits.
    pub fn prefix(self) -> u8 {
        self.prefix
    }

    fn max_prefix(self) -> u8 {
        if self.ip.is_ipv4() { 32 } else { 128 }
    }

    fn unusable(self) -> Option<&'static str> {
        if self.prefix == 0 {
            return Some("on a prefix of length 0, the whole address space");
        }
        if self.ip.is_unspecified() {
            return Some("the unspecified address");
        }
        if self.ip.is_multicast() {
            return Some("a multicast address");
        }
        if self.ip.is_loopback() {
            return Some("a loopback address");
        }
        match self.ip {
            IpAddr::V4(ip) => unusable_v4(ip, self.prefix),
            IpAddr::V6(ip) => ip
                .to_ipv4_mapped()
                .map(|_| "an IPv4 address mapped into IPv6"),
        }
    }
}

fn unusable_v4(ip: Ipv4Addr, prefix: u8) -> Option<&'static str> {
    if ip.is_broadcast() {
        return Some("the broadcast address");
    }
    if ip.octets()[0] == 0 {
        return Some("in 0.0.0.0/8, which names \"this network\"");
    }
    // A /31 has two hosts and a /32 one (RFC 3021): neither has a network or broadcast address.
    if prefix >= 31 {
        return None;
    }
    let host_bits = u32::MAX >> prefix;
    match ip.to_bits() & host_bits {
        0 => Some("the network's own address"),
        bits if bits == host_bits => Some("the network's broadcast address"),
        _ => None,
    }
}

impl FromStr for InterfaceAddress {
    type Err = InterfaceAddressError;

    fn from_str(text: &str) -> Result<Self, InterfaceAddressError> {
        use InterfaceAddressError as E;
        let bad = || E::Format(crate::error::excerpt(text));
        let Some((ip, prefix)) = text.split_once('/') else {
            return Err(match text.parse::<IpAddr>() {
                Ok(_) => E::NoPrefix(text.to_owned()),
                Err(_) => bad(),
            });
        };
        let ip: IpAddr = ip.parse().map_err(|_| bad())?;
        if prefix.is_empty() || prefix.len() > 3 || !prefix.bytes().all(|b| b.is_ascii_digit()) {
            return Err(bad());
        }
        let prefix: u8 = prefix.parse().map_err(|_| E::Prefix(text.to_owned()))?;
        Self::new(ip, prefix)
    }
}

impl fmt::Display for InterfaceAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.ip, self.prefix)
    }
}

crate::text::text_serde!(InterfaceAddress, "an address with a prefix length");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_in_one_way() {
        for (text, canonical) in [
            ("192.0.2.5/24", "192.0.2.5/24"),
            ("192.0.2.5/32", "192.0.2.5/32"),
            ("192.0.2.4/31", "192.0.2.4/31"),
            ("2001:DB8:0:0::5/64", "2001:db8::5/64"),
            ("fe80::1/64", "fe80::1/64"),
            ("2001:db8::/127", "2001:db8::/127"),
        ] {
            assert_eq!(
                text.parse::<InterfaceAddress>().unwrap().to_string(),
                canonical
            );
        }
    }

    // Linux `net/ipv4/devinet.c` (case 57).
    #[test]
    fn addresses_that_no_host_can_use_are_refused() {
        for text in [
            "0.0.0.0/0",
            "0.0.0.0/8",
            "0.1.2.3/8",
            "224.0.0.5/24",
            "192.0.2.255/24",
            "192.0.2.0/24",
            "127.0.0.5/8",
            "255.255.255.255/32",
            "10.0.0.1/0",
            "::/128",
            "::1/128",
            "ff02::1/64",
            "::ffff:1.2.3.4/96",
            "2001:db8::1/0",
        ] {
            assert!(
                matches!(
                    text.parse::<InterfaceAddress>(),
                    Err(InterfaceAddressError::Unusable { .. })
                ),
                "{text}"
            );
        }
    }

    // cloud-init LP#1959148 (case 58).
    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "/",
            "192.0.2.5/",
            "192.0.2/24",
            "192.0.2.5/255.255.255.0",
            "fe80::1%eth0/64",
            "192.0.2.5/+4",
            "192.0.2.5/24/24",
            " 192.0.2.5/24",
            "192.0.2.05/24",
            "x",
        ] {
            assert!(
                matches!(
                    text.parse::<InterfaceAddress>(),
                    Err(InterfaceAddressError::Format(_))
                ),
                "{text}"
            );
        }
        for text in ["192.0.2.5/33", "2001:db8::5/129", "192.0.2.5/999"] {
            assert!(
                matches!(
                    text.parse::<InterfaceAddress>(),
                    Err(InterfaceAddressError::Prefix(_))
                ),
                "{text}"
            );
        }
        assert!(matches!(
            "192.168.100.50".parse::<InterfaceAddress>(),
            Err(InterfaceAddressError::NoPrefix(_))
        ));
    }
}
