//! A ResourceClaim file, as far as its devices' status goes.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

/// The status of the devices of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// `NAMESPACE/NAME`.
    pub name: String,
    /// `status.devices`.
    pub devices: Vec<DeviceStatus>,
    /// The whole claim.
    pub value: Value,
}

/// One entry of `status.devices`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceStatus {
    /// `DRIVER/POOL/DEVICE`.
    pub name: String,
    /// Its conditions, in their order.
    pub conditions: Vec<Condition>,
    /// `networkData`, `null` when absent.
    pub network_data: Value,
}

/// One condition of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Its type.
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why, in one word.
    pub reason: String,
    /// Why, in a sentence.
    pub message: String,
}

impl Claim {
    /// Reads a file with one claim.
    ///
    /// # Errors
    /// When it cannot be read or is no YAML.
    pub fn read(path: &Path) -> Result<Self> {
        let file = || format!("the claim {}", path.display());
        let text = fs::read_to_string(path).with_context(file)?;
        let value: Value = serde_saphyr::from_str(&text).with_context(file)?;
        let devices = value
            .pointer("/status/devices")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .map(|entry| DeviceStatus {
                name: format!(
                    "{}/{}/{}",
                    text_of(entry, "driver"),
                    text_of(entry, "pool"),
                    text_of(entry, "device")
                ),
                conditions: conditions(entry),
                network_data: entry.get("networkData").cloned().unwrap_or_default(),
            })
            .collect();
        let metadata = value.get("metadata").cloned().unwrap_or_default();
        Ok(Self {
            name: format!(
                "{}/{}",
                text_of(&metadata, "namespace"),
                text_of(&metadata, "name")
            ),
            devices,
            value,
        })
    }

    /// The condition of that type of the first device that has one.
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.devices
            .iter()
            .flat_map(|device| &device.conditions)
            .find(|condition| condition.kind == kind)
    }

    /// The conditions of all devices, a line each, for people.
    pub fn table(&self) -> String {
        let mut lines = vec![format!("ResourceClaim {}", self.name)];
        for device in &self.devices {
            lines.push(format!("  {}", device.name));
            for condition in &device.conditions {
                lines.push(format!(
                    "    {:<16} {:<8} {:<12} {}",
                    condition.kind, condition.status, condition.reason, condition.message
                ));
            }
        }
        lines.join("\n")
    }
}

fn conditions(entry: &Value) -> Vec<Condition> {
    let list = entry.get("conditions").and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .map(|condition| Condition {
            kind: text_of(condition, "type"),
            status: text_of(condition, "status"),
            reason: text_of(condition, "reason"),
            message: text_of(condition, "message"),
        })
        .collect()
}

fn text_of(value: &Value, key: &str) -> String {
    value
        .get(key)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}
