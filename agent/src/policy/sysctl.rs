//! The kernel's settings of one interface that a policy may ask for.

use serde::{Deserialize, Serialize};

use super::reader::{Reader, Value};
use super::values::text;

/// Whether packets are dropped whose source would be answered by another interface
/// (`net.ipv4.conf.<name>.rp_filter`, `Documentation/networking/ip-sysctl.rst`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReversePathFilter {
    /// No: 0.
    Off,
    /// Those that would be answered by another interface: 1.
    Strict,
    /// Those that would not be answered at all: 2.
    Loose,
}

/// Whether routers' announcements configure the interface (`net.ipv6.conf.<name>.accept_ra`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RouterAnnouncements {
    /// No: 0.
    Never,
    /// Unless the guest forwards packets: 1.
    UnlessForwarding,
    /// Yes: 2.
    Always,
}

impl ReversePathFilter {
    /// The sysctl's value.
    pub fn value(self) -> u8 {
        match self {
            Self::Off => 0,
            Self::Strict => 1,
            Self::Loose => 2,
        }
    }

    pub(super) fn read(reader: &mut Reader, value: &Value<'_>) -> Option<Self> {
        Some(match text(reader, value)?.as_str() {
            "off" => Self::Off,
            "strict" => Self::Strict,
            "loose" => Self::Loose,
            _ => {
                reader.mistake(
                    value.span(),
                    "rp-filter is \"off\", \"strict\" or \"loose\"",
                );
                return None;
            }
        })
    }
}

impl RouterAnnouncements {
    /// The sysctl's value.
    pub fn value(self) -> u8 {
        match self {
            Self::Never => 0,
            Self::UnlessForwarding => 1,
            Self::Always => 2,
        }
    }

    pub(super) fn read(reader: &mut Reader, value: &Value<'_>) -> Option<Self> {
        Some(match text(reader, value)?.as_str() {
            "never" => Self::Never,
            "unless-forwarding" => Self::UnlessForwarding,
            "always" => Self::Always,
            _ => {
                let message = "accept-ra is \"never\", \"unless-forwarding\" or \"always\"";
                reader.mistake(value.span(), message);
                return None;
            }
        })
    }
}
