//! The fields of claims and slices that say what a device is.

use serde::Deserialize;

use crate::Claim;
use crate::read::described::{Attributes, NetworkData};

/// A ResourceClaim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceClaim {
    /// Which one it is. Its `generation` is that of metadata files, and 0 here.
    pub claim: Claim,
    /// What the scheduler and the drivers wrote on it.
    pub status: ClaimStatus,
}

/// `status` of a ResourceClaim.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ClaimStatus {
    pub(super) allocation: Option<Allocation>,
    pub(super) devices: Option<Vec<DeviceStatus>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Allocation {
    pub(super) devices: Option<AllocatedDevices>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct AllocatedDevices {
    pub(super) results: Option<Vec<AllocationResult>>,
}

/// One device that the scheduler chose: an entry of `status.allocation.devices.results`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AllocationResult {
    /// `request`, or `request/subrequest` where the scheduler had a choice (KEP-4816).
    pub request: String,
    /// The driver.
    pub driver: String,
    /// Its pool.
    pub pool: String,
    /// The device in it.
    pub device: String,
    /// Tells the shares of one device apart (KEP-5075).
    #[serde(rename = "shareID")]
    pub share_id: Option<String>,
    /// Given to look after it, while another claim may have it for use (KEP-5018).
    pub admin_access: Option<bool>,
}

/// An entry of `status.devices`: what the driver says of an allocated device (KEP-4817).
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct DeviceStatus {
    pub(super) driver: String,
    pub(super) pool: String,
    pub(super) device: String,
    #[serde(rename = "shareID")]
    pub(super) share_id: Option<String>,
    pub(super) network_data: Option<NetworkData>,
}

/// A `ResourceSlice`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceSlice {
    /// Its name, of which the cluster has one.
    pub name: String,
    /// What the driver publishes in it.
    pub spec: SliceSpec,
}

/// `spec` of a `ResourceSlice`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SliceSpec {
    pub(super) driver: String,
    pub(super) pool: Pool,
    pub(super) devices: Option<Vec<SliceDevice>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Pool {
    pub(super) name: String,
    /// Rises when the driver changes what the pool has; slices of lower ones are out of date.
    pub(super) generation: i64,
    /// How many slices the pool has in this generation.
    pub(super) resource_slice_count: i64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct SliceDevice {
    pub(super) name: String,
    pub(super) attributes: Option<Attributes>,
}

impl ClaimStatus {
    /// The devices that are allocated, in the scheduler's order; `None` while nothing is.
    pub fn results(&self) -> Option<&[AllocationResult]> {
        let allocation = self.allocation.as_ref()?;
        let results = allocation
            .devices
            .as_ref()
            .and_then(|it| it.results.as_deref());
        Some(results.unwrap_or_default())
    }
}

impl AllocationResult {
    /// The entry of `status.devices` that is about this device.
    pub(super) fn is_described_by(&self, status: &DeviceStatus) -> bool {
        self.driver == status.driver
            && self.pool == status.pool
            && self.device == status.device
            && self.share_id == status.share_id
    }
}
