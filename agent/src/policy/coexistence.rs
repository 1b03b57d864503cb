//! What is done with a device that another program of the guest configures too.

use serde::{Deserialize, Serialize};

use super::reader::{Reader, Value};
use super::values::text;

/// Who has the device when a network manager (`systemd-networkd`, `NetworkManager`, `ifupdown`) is there
/// for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Coexistence {
    /// The agent: it tells the managers to leave the device to it.
    #[default]
    HandOver,
    /// The manager: the device is reported, and left as it is.
    Leave,
}

impl Coexistence {
    pub(super) fn read(reader: &mut Reader, value: &Value<'_>) -> Option<Self> {
        Some(match text(reader, value)?.as_str() {
            "hand-over" => Self::HandOver,
            "leave" => Self::Leave,
            _ => {
                reader.mistake(value.span(), "coexist is \"hand-over\" or \"leave\"");
                return None;
            }
        })
    }
}
