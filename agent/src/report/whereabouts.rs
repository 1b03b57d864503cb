//! Where a device is: as much of the status as `exec` needs. All that it reads delays its command.

use device_attributes::report::Reason;
use device_attributes::{DeviceIdentity, PciAddress};
use serde::Deserialize;

use super::{DeviceStatus, LocalityStatus};

/// A device with its names, and where it is.
pub trait Whereabouts {
    /// Which device, in the host's terms.
    fn identity(&self) -> &DeviceIdentity;
    /// Its interface, where it has one.
    fn interface_name(&self) -> Option<&str>;
    /// Its address in the guest.
    fn guest_pci_address(&self) -> Option<PciAddress>;
    /// What is near it; absent where all is, and for a device that was not found.
    fn locality(&self) -> Option<&LocalityStatus>;
    /// What became of it, in a word and in a sentence.
    fn outcome(&self) -> (Reason, &str);
}

/// The status without what does not say where devices are.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Places {
    /// As in [`super::Status`].
    pub document_digest: Option<String>,
    /// As in [`super::Status`].
    pub problem: Option<String>,
    /// Every device.
    pub devices: Vec<Place>,
}

/// A device of these.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    identity: DeviceIdentity,
    reason: Reason,
    #[serde(default)]
    message: String,
    interface_name: Option<String>,
    guest_pci_address: Option<PciAddress>,
    locality: Option<LocalityStatus>,
}

impl Whereabouts for Place {
    fn identity(&self) -> &DeviceIdentity {
        &self.identity
    }

    fn interface_name(&self) -> Option<&str> {
        self.interface_name.as_deref()
    }

    fn guest_pci_address(&self) -> Option<PciAddress> {
        self.guest_pci_address
    }

    fn locality(&self) -> Option<&LocalityStatus> {
        self.locality.as_ref()
    }

    fn outcome(&self) -> (Reason, &str) {
        (self.reason, &self.message)
    }
}

impl Whereabouts for DeviceStatus {
    fn identity(&self) -> &DeviceIdentity {
        &self.report.identity
    }

    fn interface_name(&self) -> Option<&str> {
        self.report.interface_name.as_deref()
    }

    fn guest_pci_address(&self) -> Option<PciAddress> {
        self.report.guest_pci_address
    }

    fn locality(&self) -> Option<&LocalityStatus> {
        self.locality.as_ref()
    }

    fn outcome(&self) -> (Reason, &str) {
        (self.report.reason, &self.report.message)
    }
}
