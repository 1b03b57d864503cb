//! The report protocol: what a guest's agent and the node's relay say to each other.
//!
//! One JSON object a line, at most [`crate::limits::LINE_BYTES`] bytes with its newline. The guest
//! connects to vsock CID 2, port [`PORT`], and sends [`GuestMessage`]s; the relay answers each
//! `hello` and `report` with a [`RelayMessage::Ack`]. Who the guest is comes from the transport (the peer's
//! CID), never from a message.

use serde::{Deserialize, Serialize};

use crate::{DeviceIdentity, InterfaceAddress, MacAddress, NodeId, PciAddress};

/// The vsock port of the relay.
pub const PORT: u32 = 10739;

/// The longest time, in seconds, between two lines of a living agent.
pub const HEARTBEAT_SECONDS: u64 = 10;

/// What the agent says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum GuestMessage {
    /// The first line of a connection. It starts a new account of the guest's devices.
    Hello {
        /// The agent's version.
        version: String,
        /// `/proc/sys/kernel/random/boot_id` of the guest.
        boot_id: String,
        /// `sha256:` and the hexadecimal digest of the document's bytes; absent while there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        document_digest: Option<String>,
    },
    /// The state of some or all devices. A later statement about a device replaces the earlier; a
    /// state that does not fit one line comes as several reports.
    Report {
        /// Rises by one with each report of a connection; the acknowledgement repeats it.
        sequence: u64,
        /// The devices, as observed.
        devices: Vec<DeviceReport>,
    },
    /// Sent when nothing else was for [`HEARTBEAT_SECONDS`].
    Heartbeat {},
}

/// What the relay says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum RelayMessage {
    /// The `hello` (sequence 0) or the report of that sequence was taken.
    Ack {
        /// That of the report; 0 for `hello`.
        sequence: u64,
        /// What of it cannot be put on a claim, and why; empty when all can.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        problems: Vec<String>,
    },
}

/// The state of one device in the guest, as observed there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeviceReport {
    /// Which device, in the host's terms.
    pub identity: DeviceIdentity,
    /// Whether it can be used.
    pub ready: bool,
    /// Why, in one word.
    pub reason: Reason,
    /// Why, in a sentence; at most 1,024 bytes are kept.
    #[serde(default)]
    pub message: String,
    /// The interface's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface_name: Option<String>,
    /// The interface's current MAC address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac_address: Option<MacAddress>,
    /// The interface's addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<InterfaceAddress>,
    /// The guest's PCI address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest_pci_address: Option<PciAddress>,
    /// The guest's NUMA node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa_node: Option<NodeId>,
}

/// The reasons of the condition `dra-guest/Ready`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Reason {
    /// Found, configured and verified.
    Configured,
    /// Not finished: still waited for.
    Pending,
    /// No device of the guest answers to it.
    DeviceNotFound,
    /// More than one device of the guest answers to it.
    Ambiguous,
    /// Its MAC and its guest PCI address name two devices.
    IdentityConflict,
    /// What the document says of it cannot be used.
    InvalidAttributes,
    /// Found, but it could not be brought into the wanted state.
    ConfigurationFailed,
    /// The relay's own word: the guest's agent has gone silent.
    AgentLost,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_their_stated_shape() {
        let line =
            r#"{"type":"hello","version":"0.1.0","bootId":"b","documentDigest":"sha256:00"}"#;
        let hello: GuestMessage = serde_json::from_str(line).unwrap();
        assert_eq!(serde_json::to_string(&hello).unwrap(), line);

        let line = r#"{"type":"report","sequence":1,"devices":[{"identity":{"request":"vf"},"ready":true,"reason":"Configured","message":"","interfaceName":"net1"}]}"#;
        let report: GuestMessage = serde_json::from_str(line).unwrap();
        assert_eq!(serde_json::to_string(&report).unwrap(), line);

        assert_eq!(
            serde_json::to_string(&GuestMessage::Heartbeat {}).unwrap(),
            r#"{"type":"heartbeat"}"#
        );
        assert_eq!(
            serde_json::to_string(&RelayMessage::Ack {
                sequence: 3,
                problems: vec![]
            })
            .unwrap(),
            r#"{"type":"ack","sequence":3}"#
        );
    }
}
