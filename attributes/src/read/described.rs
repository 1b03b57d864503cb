//! What a driver says of one device in the words of `resource.k8s.io/v1`, brought into the document's terms.
//!
//! Metadata files, `ResourceSlice`s and the status of a claim say it with the same two types: all are held
//! to the same table of keys and the same limits.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Deserialize;

use super::path::FieldPath;
use crate::keys::{Normalised, normalise};
use crate::{AttributeValue, Host, InterfaceAddress, InterfaceAddressError, Network, limits};

/// The attributes of a device by their qualified names, as the API has them.
pub(super) type Attributes = BTreeMap<String, Attribute>;

/// Takes what there is to say about a field: its path below the device, and the words.
pub(super) type Remark<'r> = dyn FnMut(&FieldPath, &str) + 'r;

/// `DeviceAttribute` of `resource.k8s.io/v1`: one of these is set.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Attribute {
    int: Option<i64>,
    bool: Option<bool>,
    string: Option<String>,
    version: Option<String>,
    ints: Option<Vec<i64>>,
    bools: Option<Vec<bool>>,
    strings: Option<Vec<String>>,
    versions: Option<Vec<String>>,
}

/// `NetworkDeviceData` of `resource.k8s.io/v1`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NetworkData {
    interface_name: Option<String>,
    hardware_address: Option<String>,
    ips: Option<Vec<String>>,
}

/// What can be used of it.
pub(super) struct Described {
    pub(super) host: Host,
    pub(super) network: Network,
    pub(super) attributes: BTreeMap<String, AttributeValue>,
}

/// Brings what is said of a driver's device into the document's terms. What cannot be used is left out
/// with a remark, about `attributes` or `networkData`.
pub(super) fn describe(
    driver: &str,
    attributes: Attributes,
    network: NetworkData,
    remark: &mut Remark<'_>,
) -> Described {
    let attributes = values(attributes, remark);
    let Normalised {
        host,
        mac_address,
        remarks,
    } = normalise(driver, &attributes);
    for one in remarks {
        remark(&FieldPath::key("attributes").and(&one.key), &one.what);
    }
    let mut network = network_of(network, remark);
    if let Some((key, address)) = mac_address {
        match network.mac_address {
            None => network.mac_address = Some(address),
            Some(taken) if taken != address => {
                let what = format!(
                    "this is {address}, but networkData.hardwareAddress is {taken}, which was taken"
                );
                remark(&FieldPath::key("attributes").and(&key), &what);
            }
            Some(_) => {}
        }
    }
    Described {
        host,
        network,
        attributes,
    }
}

impl Attribute {
    /// The value, where exactly one kind is set.
    fn value(self) -> Option<AttributeValue> {
        use AttributeValue as V;
        let kinds = [
            self.int.map(V::Int),
            self.bool.map(V::Bool),
            self.string.map(V::String),
            self.version.map(V::Version),
            self.ints.map(V::Ints),
            self.bools.map(V::Bools),
            self.strings.map(V::Strings),
            self.versions.map(V::Versions),
        ];
        let mut set = kinds.into_iter().flatten();
        let value = set.next()?;
        set.next().is_none().then_some(value)
    }
}

fn values(attributes: Attributes, remark: &mut Remark<'_>) -> BTreeMap<String, AttributeValue> {
    let mut values = BTreeMap::new();
    for (key, attribute) in attributes {
        if let Some(value) = attribute.value() {
            values.insert(key, value);
        } else {
            let path = FieldPath::key("attributes").and(&key);
            remark(
                &path,
                "left out: this is not exactly one value of a known kind",
            );
        }
    }
    values
}

fn network_of(data: NetworkData, remark: &mut Remark<'_>) -> Network {
    let place = FieldPath::key("networkData");
    let mut network = Network {
        interface_name: parsed(data.interface_name, &place.and("interfaceName"), remark),
        mac_address: parsed(data.hardware_address, &place.and("hardwareAddress"), remark),
        ip_addresses: Vec::new(),
    };
    for (index, text) in data.ips.unwrap_or_default().into_iter().enumerate() {
        let path = place.and("ips").at(index);
        if index == limits::ADDRESSES {
            let what = format!("left out, with all behind it: {index} addresses are the limit");
            remark(&path, &what);
            break;
        }
        if let Some(address) = address(&text, &path, remark) {
            if network.ip_addresses.contains(&address) {
                remark(&path, &format!("left out: {address} stands there already"));
            } else {
                network.ip_addresses.push(address);
            }
        }
    }
    network
}

/// Parses a text that stands at `path`; what does not fit is left out.
fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(
    text: Option<String>,
    path: &FieldPath,
    remark: &mut Remark<'_>,
) -> Option<T> {
    // Go's zero value: the driver does not know it.
    let text = text.filter(|text| !text.is_empty())?;
    match text.parse() {
        Ok(value) => Some(value),
        Err(error) => {
            remark(path, &format!("left out: {error}"));
            None
        }
    }
}

/// An address. A bare one is taken as that single host: drivers and the posts that users
/// follow write them so.
fn address(text: &str, path: &FieldPath, remark: &mut Remark<'_>) -> Option<InterfaceAddress> {
    let error = match text.parse() {
        Ok(address) => return Some(address),
        Err(InterfaceAddressError::NoPrefix(_)) => {
            let ip: IpAddr = text.parse().ok()?;
            match InterfaceAddress::new(ip, if ip.is_ipv4() { 32 } else { 128 }) {
                Ok(address) => {
                    let what = format!("{text:?} has no prefix length: {address} was taken");
                    remark(path, &what);
                    return Some(address);
                }
                Err(error) => error,
            }
        }
        Err(error) => error,
    };
    remark(path, &format!("left out: {error}"));
    None
}
