//! One device in the status: what the relay is told of it, and what only the guest has a use for.

use device_attributes::report::DeviceReport;
use serde::{Deserialize, Serialize};

use crate::numa::{Bounds, Locality, Near, NotThere, Places};
use crate::observe::{Interface, Observation};
use crate::plan::{PinningNow, RoutingNow, Wanted, routing_now};
use crate::routing::{Route, RoutingRule};

/// Where a device is in the guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LocalityStatus {
    /// Near these nodes and CPUs.
    Near(Near),
    /// Nothing says where. The sentence says why.
    Unknown(String),
    /// What answers names a node or CPUs that the guest does not have, as the sentence says.
    NotThere(String),
}

impl LocalityStatus {
    /// None where all is near.
    pub fn of(locality: Result<Locality, NotThere>) -> Option<Self> {
        match locality {
            Ok(Locality::Near(near)) => Some(Self::Near(near)),
            Ok(Locality::Everywhere) => None,
            Ok(Locality::Unknown(why)) => Some(Self::Unknown(why)),
            Err(error) => Some(Self::NotThere(error.to_string())),
        }
    }
}

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
    /// Where it is in the guest; absent where all is near, and for a device that was not found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locality: Option<LocalityStatus>,
    /// What a workload is bound to so that it is near; kept out of the status, since it follows from the guest.
    #[serde(skip)]
    pub bounds: Bounds,
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
            locality: None,
            bounds: Bounds::default(),
            routes,
            rules,
            pinning: None,
        }
    }
}

impl DeviceStatus {
    /// Whether the guest has it.
    pub fn is_found(&self) -> bool {
        self.report.interface_name.is_some() || self.report.guest_pci_address.is_some()
    }

    /// Says where it is, if it was found; `place` is its place in the document.
    pub(crate) fn locate(&mut self, place: usize, places: &Places<'_>) {
        if self.is_found() {
            let report = &self.report;
            let locality = places.of(place, report.guest_pci_address, report.numa_node);
            if let Ok(Locality::Near(near)) = &locality {
                self.bounds = Bounds::new(&near.nodes, &near.cpus, places.topology());
            }
            self.locality = LocalityStatus::of(locality);
        }
    }
}

impl From<DeviceReport> for DeviceStatus {
    /// Of a device that has no interface.
    fn from(report: DeviceReport) -> Self {
        Self {
            report,
            mtu: None,
            locality: None,
            bounds: Bounds::default(),
            routes: Vec::new(),
            rules: Vec::new(),
            pinning: None,
        }
    }
}
