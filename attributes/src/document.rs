//! The document `dra-guest/v1`: what is known of the devices of one VM.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    AttributeValue, InterfaceAddress, InterfaceName, MacAddress, Name, NodeId, PciAddress,
};

/// The document's `apiVersion`.
pub const API_VERSION: &str = "dra-guest/v1";
/// The document's `kind`.
pub const KIND: &str = "DeviceAttributes";
/// The document's file name, in the VM mount and in the guest.
pub const FILE_NAME: &str = "device-attributes.json";

/// What is known of the devices of one VM.
///
/// [`Document::to_bytes`] gives the same bytes for the same content: devices are sorted, keys
/// have one order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// The pod that the VM runs in, where the writer knows it.
    pub pod: Option<Pod>,
    /// The devices.
    pub devices: Vec<Device>,
}

/// The pod that a VM runs in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pod {
    /// Its namespace.
    pub namespace: Name,
    /// Its name.
    pub name: Name,
    /// Its UID.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<Name>,
}

/// One allocated device.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Device {
    /// The ResourceClaim that it was allocated to; absent in the flat form and in a config drive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// The request inside the claim, `request` or `request/subrequest`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Name>,
    /// The DRA driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<Name>,
    /// The driver's pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<Name>,
    /// The device's name in that pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Name>,
    /// Where the host sees it. Never looked up in the guest.
    #[serde(default, skip_serializing_if = "is_default")]
    pub host: Host,
    /// Where the guest sees it, if the host side knew.
    #[serde(default, skip_serializing_if = "is_default")]
    pub guest: Guest,
    /// What a network device should look like.
    #[serde(default, skip_serializing_if = "is_default")]
    pub network: Network,
    /// The driver's attributes as they came, by qualified name.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "crate::attribute::unique_attributes"
    )]
    pub attributes: BTreeMap<String, AttributeValue>,
}

/// A ResourceClaim.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Claim {
    /// Its namespace.
    pub namespace: Name,
    /// Its name.
    pub name: Name,
    /// Its UID.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<Name>,
    /// `spec.resourceClaims[].name` of the pod, for a claim made from a template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_claim_name: Option<Name>,
    /// The generation of the metadata, rising with each update; 0 when not known.
    #[serde(default, skip_serializing_if = "is_default")]
    pub generation: i64,
}

/// Whether nothing is known.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A device as the host numbers it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Host {
    /// The host's PCI address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pci_address: Option<PciAddress>,
    /// The host's PCIe root, like `pci0000:3a`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pcie_root: Option<Name>,
    /// The host's NUMA node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa_node: Option<NodeId>,
}

/// A device as the guest numbers it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Guest {
    /// The guest's PCI address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pci_address: Option<PciAddress>,
    /// The guest's NUMA node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa_node: Option<NodeId>,
}

/// What a network device should look like.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Network {
    /// The interface's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface_name: Option<InterfaceName>,
    /// The MAC address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac_address: Option<MacAddress>,
    /// Addresses with their prefix length, in the order they came in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ip_addresses: Vec<InterfaceAddress>,
}

impl Network {
    /// Whether nothing is known: the device is not a network device, or its driver does not say.
    pub fn is_empty(&self) -> bool {
        is_default(self)
    }
}

/// What names a device on the host side: enough to find it in a ResourceClaim's status.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DeviceIdentity {
    /// The claim; its `generation` is that of the metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// The request inside the claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Name>,
    /// The DRA driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<Name>,
    /// The driver's pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<Name>,
    /// The device's name in that pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Name>,
}

impl Device {
    /// What names this device on the host side.
    pub fn identity(&self) -> DeviceIdentity {
        DeviceIdentity {
            claim: self.claim.clone(),
            request: self.request.clone(),
            driver: self.driver.clone(),
            pool: self.pool.clone(),
            device: self.device.clone(),
        }
    }
}

impl std::fmt::Display for DeviceIdentity {
    /// `claim/request` where they are known, else what is: for messages.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.claim, &self.request, &self.device) {
            (Some(claim), Some(request), Some(device)) => {
                write!(f, "{}/{request} ({device})", claim.name)
            }
            (Some(claim), Some(request), None) => write!(f, "{}/{request}", claim.name),
            (Some(claim), None, _) => write!(f, "{}", claim.name),
            (None, Some(request), _) => write!(f, "{request}"),
            (None, None, Some(device)) => write!(f, "{device}"),
            (None, None, None) => f.write_str("the device"),
        }
    }
}

/// The wire form, with the flat keys that are derived when there is exactly one device.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Wire<'a> {
    api_version: &'a str,
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pod: Option<&'a Pod>,
    #[serde(flatten)]
    flat: Flat,
    devices: &'a [Device],
}

/// The flat keys: the only device's, each from the host's side if that is known.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Flat {
    #[serde(skip_serializing_if = "Option::is_none")]
    pci_address: Option<PciAddress>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mac_address: Option<MacAddress>,
    #[serde(skip_serializing_if = "Option::is_none")]
    numa_node: Option<NodeId>,
}

impl Document {
    /// Brings the devices into their one order: by claim, request, driver, pool and device, then by
    /// all that is known of them, so that the order of the input leaves no trace.
    pub fn sort(&mut self) {
        self.devices.sort();
    }

    /// The flat keys that stand beside the devices: none are set unless there is exactly one device.
    pub(crate) fn flat(&self) -> Flat {
        let only = match self.devices.as_slice() {
            [device] => Some(device),
            _ => None,
        };
        Flat {
            pci_address: only
                .and_then(|device| device.host.pci_address.or(device.guest.pci_address)),
            mac_address: only.and_then(|device| device.network.mac_address),
            numa_node: only.and_then(|device| device.host.numa_node.or(device.guest.numa_node)),
        }
    }

    /// The canonical bytes: pretty-printed JSON with a newline at its end.
    ///
    /// The devices are sorted first. With exactly one device, its host PCI address, MAC and host
    /// NUMA node also stand at the top, where boot scripts look for them with `jq`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut sorted = self.clone();
        sorted.sort();
        let wire = Wire {
            api_version: API_VERSION,
            kind: KIND,
            pod: sorted.pod.as_ref(),
            flat: sorted.flat(),
            devices: &sorted.devices,
        };
        // Writing to memory cannot fail, and every map of the wire form has string keys.
        let mut bytes = serde_json::to_vec_pretty(&wire).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }
}
