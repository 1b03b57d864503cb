//! Reads the `devices` of a KubeVirt config drive's `meta_data.json` (device role tagging).
//!
//! Its addresses are the guest's, as libvirt gave them; its `numaNode` is the host's number of the
//! node (`pkg/cloud-init` and `manager.go` of kubevirt). What the document has no key for stays
//! visible as attributes of the domain `kubevirt.io`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::notes::Notes;
use super::path::{FieldPath, members};
use super::source::Source;
use super::{Found, Rejected, document, flat, parse};
use crate::{AttributeValue, Device, DeviceIdentity, Document, MacAddress, ReadError};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    #[serde(rename = "type")]
    kind: String,
    bus: Option<String>,
    #[serde(borrow)]
    address: Option<&'a RawValue>,
    mac: Option<MacAddress>,
    serial: Option<String>,
    #[serde(borrow)]
    numa_node: Option<&'a RawValue>,
    #[serde(rename = "alignedCPUs")]
    aligned_cpus: Option<Vec<u32>>,
    tags: Option<Vec<String>>,
}

pub(super) fn read<'a>(
    source: &Source<'a>,
    object: &'a RawValue,
    notes: &mut Notes,
) -> Result<Found, ReadError> {
    let mut found = Found {
        document: Document::default(),
        rejected: Vec::new(),
    };
    let members = members(object).unwrap_or_default();
    let Some(devices) = members.get("devices") else {
        // No device of the VM is tagged.
        return Ok(found);
    };
    for (place, entry) in document::entries(source, devices)? {
        match device(source, entry, &place, notes) {
            Ok(Some(device)) => found.document.devices.push(device),
            Ok(None) => {}
            Err(error) => found.rejected.push(Rejected {
                identity: DeviceIdentity::default(),
                error,
            }),
        }
    }
    Ok(found)
}

fn device<'a>(
    source: &Source<'a>,
    entry: &'a RawValue,
    place: &FieldPath,
    notes: &mut Notes,
) -> Result<Option<Device>, ReadError> {
    let parsed: Entry<'a> = parse::noting(source, entry, place, &[], notes)?;
    if !matches!(parsed.kind.as_str(), "nic" | "hostdev") {
        let kind = crate::error::excerpt(&parsed.kind);
        let what = format!("a device of type {kind:?} is neither a nic nor a hostdev: passed over");
        notes.about(source, entry.get(), place, what);
        return Ok(None);
    }
    let mut device = Device::default();
    device.network.mac_address = parsed.mac;
    if let Some(address) = parsed.address {
        let path = place.and("address");
        if parsed.bus.as_deref() == Some("pci") {
            device.guest.pci_address = parse::plain(source, address, &path)?;
        } else {
            let what = "the address is not one of bus \"pci\", and was left out".to_owned();
            notes.about(source, address.get(), &path, what);
        }
    }
    if let Some(node) = parsed.numa_node {
        device.host.numa_node = flat::node(source, node, &place.and("numaNode"), notes)?;
    }
    let cpus = parsed.aligned_cpus.unwrap_or_default();
    let texts = |texts: Vec<String>| (!texts.is_empty()).then_some(AttributeValue::Strings(texts));
    let others = [
        (
            "kubevirt.io/type",
            Some(AttributeValue::String(parsed.kind)),
        ),
        (
            "kubevirt.io/serial",
            parsed.serial.map(AttributeValue::String),
        ),
        ("kubevirt.io/tags", texts(parsed.tags.unwrap_or_default())),
        (
            "kubevirt.io/alignedCPUs",
            (!cpus.is_empty())
                .then(|| AttributeValue::Ints(cpus.into_iter().map(i64::from).collect())),
        ),
    ];
    device.attributes = others
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)))
        .collect::<BTreeMap<_, _>>();
    Ok(Some(device))
}
