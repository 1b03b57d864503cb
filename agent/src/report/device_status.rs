//! One device in the status: what the relay is told of it, and what only the guest has a use for.

use device_attributes::report::DeviceReport;
use serde::{Deserialize, Serialize};

use crate::observe::{Interface, Observation};
use crate::plan::{PinningNow, RoutingNow, Wanted, routing_now};
use crate::routing::{Route, RoutingRule};

/// What was observed of one device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeviceStatus {
    /// What the relay is told.
    #[serde(flatten)]
    pub report: DeviceReport,
    /// The interface's MTU, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// The device's routes that are there: the agent's own, and those of others that the policy asks
    /// for too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
    /// Its policy rules that are there, likewise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RoutingRule>,
    /// What of it is wanted near it, and what is, where the policy asks for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinning: Option<PinningNow>,
}

impl DeviceStatus {
    /// With what the observation shows of the interface that was found for the device.
    pub fn of(
        report: DeviceReport,
        wanted: &Wanted,
        interface: &Interface,
        observation: &Observation,
    ) -> Self {
        let RoutingNow { routes, rules } = routing_now(wanted, interface, observation);
        Self {
            report,
            mtu: Some(interface.mtu),
            routes,
            rules,
            pinning: None,
        }
    }
}

impl From<DeviceReport> for DeviceStatus {
    /// Of a device that has no interface.
    fn from(report: DeviceReport) -> Self {
        Self {
            report,
            mtu: None,
            routes: Vec::new(),
            rules: Vec::new(),
            pinning: None,
        }
    }
}
