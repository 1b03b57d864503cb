//! One device of upstream's DeviceMetadata, brought into the document's terms.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::notes::Notes;
use super::path::{FieldPath, locate};
use super::source::Source;
use super::{Rejected, parse};
use crate::keys::{Normalised, normalise};
use crate::{
    AttributeValue, Claim, Device, DeviceIdentity, Guest, InterfaceAddress, InterfaceAddressError,
    Name, Network, ReadError, ReadErrorKind, limits,
};

/// What all devices of one request have in common.
pub(super) struct Context<'c, 'a> {
    pub(super) source: &'c Source<'a>,
    pub(super) claim: Option<&'c Claim>,
    pub(super) request: Option<&'c str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    driver: Option<String>,
    pool: Option<String>,
    name: Option<String>,
    attributes: Option<BTreeMap<String, Attribute>>,
    network_data: Option<NetworkData>,
}

/// `DeviceAttribute` of `resource.k8s.io/v1`: one of these is set.
#[derive(Deserialize)]
struct Attribute {
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
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct NetworkData {
    interface_name: Option<String>,
    hardware_address: Option<String>,
    ips: Option<Vec<String>>,
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

/// Reads one device.
///
/// The outer error ends the reading, as in upstream's reader: the entry does not have the API's
/// shape. The inner one is about this device only: it has names that nothing can have.
pub(super) fn device<'a>(
    context: &Context<'_, 'a>,
    entry: &'a RawValue,
    place: &FieldPath,
    notes: &mut Notes,
) -> Result<Result<Device, Rejected>, ReadError> {
    let source = context.source;
    let parsed: Entry = parse::noting(source, entry, place, &[], notes)?;
    let mut identity = DeviceIdentity {
        claim: context.claim.cloned(),
        request: context.request.and_then(|name| name.parse().ok()),
        driver: readable(parsed.driver.as_deref()),
        pool: readable(parsed.pool.as_deref()),
        device: readable(parsed.name.as_deref()),
    };
    let names = [
        ("request", context.request, identity.request.is_some()),
        (
            "driver",
            parsed.driver.as_deref(),
            identity.driver.is_some(),
        ),
        ("pool", parsed.pool.as_deref(), identity.pool.is_some()),
        ("name", parsed.name.as_deref(), identity.device.is_some()),
    ];
    for (key, text, fits) in names {
        if fits {
            continue;
        }
        let kind = match text {
            None | Some("") => ReadErrorKind::Missing(key),
            Some(text) => match text.parse::<Name>() {
                Ok(_) => continue,
                Err(error) => ReadErrorKind::Invalid(error.to_string()),
            },
        };
        let path = FieldPath::key(key);
        let error = source.error(locate(entry, &path).get(), place.join(&path).field(), kind);
        return Ok(Err(Rejected { identity, error }));
    }
    let attributes = parsed.attributes.unwrap_or_default();
    if attributes.len() > limits::ATTRIBUTES {
        let path = FieldPath::key("attributes");
        let kind = ReadErrorKind::TooManyAttributes {
            count: attributes.len(),
        };
        let error = source.error(locate(entry, &path).get(), place.join(&path).field(), kind);
        return Ok(Err(Rejected { identity, error }));
    }
    let shown = identity.to_string();
    let mut remarks = Remarks {
        source,
        entry,
        place,
        device: &shown,
        notes,
    };
    let attributes = remarks.values(attributes);
    let driver = parsed.driver.unwrap_or_default();
    let Normalised {
        host,
        mac_address,
        remarks: about_keys,
    } = normalise(&driver, &attributes);
    for remark in about_keys {
        let path = FieldPath::key("attributes").and(&remark.key);
        remarks.add(&path, &remark.what);
    }
    let mut network = remarks.network(parsed.network_data.unwrap_or_default());
    if let Some((key, address)) = mac_address {
        match network.mac_address {
            None => network.mac_address = Some(address),
            Some(taken) if taken != address => {
                let what = format!(
                    "this is {address}, but networkData.hardwareAddress is {taken}, which was taken"
                );
                remarks.add(&FieldPath::key("attributes").and(&key), &what);
            }
            Some(_) => {}
        }
    }
    Ok(Ok(Device {
        claim: identity.claim.take(),
        request: identity.request.take(),
        driver: identity.driver.take(),
        pool: identity.pool.take(),
        device: identity.device.take(),
        host,
        guest: Guest::default(),
        network,
        attributes,
    }))
}

fn readable(text: Option<&str>) -> Option<Name> {
    text?.parse().ok()
}

/// Notes about one device.
struct Remarks<'r, 'a> {
    source: &'r Source<'a>,
    entry: &'a RawValue,
    place: &'r FieldPath,
    device: &'r str,
    notes: &'r mut Notes,
}

impl Remarks<'_, '_> {
    /// Notes something about the field below the device's entry.
    fn add(&mut self, path: &FieldPath, what: &str) {
        if self.notes.is_full() {
            self.notes.skip(1);
            return;
        }
        let part = locate(self.entry, path).get();
        let what = format!("{}: {what}", self.device);
        self.notes
            .about(self.source, part, &self.place.join(path), what);
    }

    /// Parses a text that stands at `path`; what does not fit is left out.
    fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(
        &mut self,
        text: Option<String>,
        path: &FieldPath,
    ) -> Option<T> {
        // Go's zero value: the driver does not know it.
        let text = text.filter(|text| !text.is_empty())?;
        match text.parse() {
            Ok(value) => Some(value),
            Err(error) => {
                self.add(path, &format!("left out: {error}"));
                None
            }
        }
    }

    fn values(
        &mut self,
        attributes: BTreeMap<String, Attribute>,
    ) -> BTreeMap<String, AttributeValue> {
        let mut values = BTreeMap::new();
        for (key, attribute) in attributes {
            if let Some(value) = attribute.value() {
                values.insert(key, value);
            } else {
                let path = FieldPath::key("attributes").and(&key);
                self.add(
                    &path,
                    "left out: this is not exactly one value of a known kind",
                );
            }
        }
        values
    }

    fn network(&mut self, data: NetworkData) -> Network {
        let place = FieldPath::key("networkData");
        let mut network = Network {
            interface_name: self.parsed(data.interface_name, &place.and("interfaceName")),
            mac_address: self.parsed(data.hardware_address, &place.and("hardwareAddress")),
            ip_addresses: Vec::new(),
        };
        for (index, text) in data.ips.unwrap_or_default().into_iter().enumerate() {
            let path = place.and("ips").at(index);
            if index == limits::ADDRESSES {
                let what = format!("left out, with all behind it: {index} addresses are the limit");
                self.add(&path, &what);
                break;
            }
            if let Some(address) = self.address(&text, &path) {
                if network.ip_addresses.contains(&address) {
                    self.add(&path, &format!("left out: {address} stands there already"));
                } else {
                    network.ip_addresses.push(address);
                }
            }
        }
        network
    }

    /// An address. A bare one is taken as that single host: drivers and the posts that users
    /// follow write them so.
    fn address(&mut self, text: &str, path: &FieldPath) -> Option<InterfaceAddress> {
        let error = match text.parse() {
            Ok(address) => return Some(address),
            Err(InterfaceAddressError::NoPrefix(_)) => {
                let ip: IpAddr = text.parse().ok()?;
                match InterfaceAddress::new(ip, if ip.is_ipv4() { 32 } else { 128 }) {
                    Ok(address) => {
                        let what = format!("{text:?} has no prefix length: {address} was taken");
                        self.add(path, &what);
                        return Some(address);
                    }
                    Err(error) => error,
                }
            }
            Err(error) => error,
        };
        self.add(path, &format!("left out: {error}"));
        None
    }
}
