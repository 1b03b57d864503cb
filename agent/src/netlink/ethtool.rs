//! The channels of a network interface by the generic netlink family `ethtool`
//! (`Documentation/networking/ethtool-netlink.rst`).

use rtnetlink::packet_core::{DefaultNla, Emitable, NLA_F_NESTED};
use serde::{Deserialize, Serialize};

use super::NetlinkError;
use super::attribute::{nested, number};
use super::generic::{Family, is_unsupported};

// include/uapi/linux/ethtool_netlink_generated.h
const ETHTOOL_MSG_CHANNELS_GET: u8 = 17;
const ETHTOOL_MSG_CHANNELS_SET: u8 = 18;
const ETHTOOL_A_CHANNELS_HEADER: u16 = 1;
const ETHTOOL_A_CHANNELS_COMBINED_MAX: u16 = 5;
const ETHTOOL_A_CHANNELS_COMBINED_COUNT: u16 = 9;
const ETHTOOL_A_HEADER_DEV_INDEX: u16 = 1;

/// How many combined channels an interface has: each a queue to send, one to receive, and their
/// interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Channels {
    /// Now.
    pub combined: u32,
    /// At most.
    pub most: u32,
}

/// A connection to the kernel's ethtool.
#[derive(Debug)]
pub struct Ethtool(Family);

impl Ethtool {
    /// Opens it in the network namespace of the caller; none on a kernel before 5.6, or without
    /// `CONFIG_ETHTOOL_NETLINK`.
    pub fn open() -> Option<Self> {
        Family::open("ethtool").ok().map(Self)
    }

    /// The combined channels of an interface; none when its driver has none.
    ///
    /// # Errors
    /// When the kernel refuses for another reason.
    pub fn channels(&mut self, interface: u32) -> Result<Option<Channels>, NetlinkError> {
        let attempt = format!("ask for the channels of interface {interface}");
        let header = header(interface);
        let answer = match self.0.ask(ETHTOOL_MSG_CHANNELS_GET, &[header], &attempt) {
            Err(error) if is_unsupported(&error) => return Ok(None),
            other => other?,
        };
        let value = |kind| nested(&answer, kind).next().and_then(number);
        let most = value(ETHTOOL_A_CHANNELS_COMBINED_MAX).unwrap_or_default();
        let combined = value(ETHTOOL_A_CHANNELS_COMBINED_COUNT);
        Ok(combined
            .filter(|_| most > 0)
            .map(|combined| Channels { combined, most }))
    }

    /// Sets how many combined channels an interface has. Many drivers take its link down for it.
    ///
    /// # Errors
    /// When the kernel or the driver refuses.
    pub fn set_combined(&mut self, interface: u32, combined: u32) -> Result<(), NetlinkError> {
        let attempt = format!("give interface {interface} {combined} combined channels");
        let count = combined.to_ne_bytes().to_vec();
        let count = DefaultNla::new(ETHTOOL_A_CHANNELS_COMBINED_COUNT, count);
        let request = [header(interface), count];
        let answer = self.0.ask(ETHTOOL_MSG_CHANNELS_SET, &request, &attempt);
        answer.map(|_| ())
    }
}

/// Which interface is meant.
fn header(interface: u32) -> DefaultNla {
    let index = interface.to_ne_bytes().to_vec();
    let index = [DefaultNla::new(ETHTOOL_A_HEADER_DEV_INDEX, index)];
    let index = index.as_slice();
    let mut value = vec![0; index.buffer_len()];
    index.emit(&mut value);
    DefaultNla::new(ETHTOOL_A_CHANNELS_HEADER | NLA_F_NESTED, value)
}
