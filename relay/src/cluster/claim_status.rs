//! The few fields of a claim's status that the relay reads and remembers.

use serde::{Deserialize, Serialize};

use crate::merge::CONDITION_TYPE;

/// `status` of a claim.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ClaimStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    allocation: Option<Allocation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    devices: Option<Vec<Device>>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Allocation {
    devices: Option<AllocatedDevices>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct AllocatedDevices {
    results: Option<Vec<Device>>,
}

/// A device in the allocation, or its status.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Device {
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<String>,
    driver: String,
    pool: String,
    #[serde(rename = "device")]
    name: String,
    #[serde(rename = "shareID", skip_serializing_if = "Option::is_none")]
    share: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    conditions: Option<Vec<Condition>>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_transition_time: Option<String>,
}

/// The devices that are allocated: driver, pool, device.
pub fn allocated(status: &ClaimStatus) -> Vec<[&str; 3]> {
    let devices = status.allocation.as_ref();
    let devices = devices.and_then(|allocation| allocation.devices.as_ref());
    devices
        .and_then(|devices| devices.results.as_ref())
        .into_iter()
        .flatten()
        .map(|device| [&device.driver, &device.pool, &device.name].map(String::as_str))
        .collect()
}

/// Leaves out what the relay does not need to know while it remembers a claim: the words of others.
pub fn without_words_of_others(status: &mut ClaimStatus) {
    let devices = status.devices.iter_mut().flatten();
    for condition in devices.flat_map(|device| device.conditions.iter_mut().flatten()) {
        if condition.kind != CONDITION_TYPE {
            *condition = Condition {
                kind: std::mem::take(&mut condition.kind),
                ..Condition::default()
            };
        }
    }
}
