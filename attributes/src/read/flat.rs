//! Reads the flat form of one device: `{"pciAddress", "macAddress", "numaNode"}`.

use serde_json::value::RawValue;

use super::notes::Notes;
use super::path::{FieldPath, members};
use super::source::Source;
use super::{Found, parse};
use crate::{Device, Document, MacAddress, NodeId, PciAddress, ReadError, ReadErrorKind};

/// Whoever writes this form knows the host, so its NUMA node is the host's, and so is its PCI
/// address. Without a MAC there is nothing else to find the device by: then the PCI address can only
/// be meant as the guest's.
pub(super) fn read<'a>(
    source: &Source<'a>,
    object: &'a RawValue,
    notes: &mut Notes,
) -> Result<Found, ReadError> {
    let mut device = Device::default();
    let mut pci_address: Option<PciAddress> = None;
    for (key, value) in members(object).unwrap_or_default() {
        let path = FieldPath::key(&key);
        match key.as_ref() {
            "pciAddress" => pci_address = parse::plain(source, value, &path)?,
            "macAddress" => {
                let address: Option<MacAddress> = parse::plain(source, value, &path)?;
                device.network.mac_address = address;
            }
            "numaNode" => device.host.numa_node = node(source, value, &path, notes)?,
            _ => notes.unknown_key(source, value.get(), &path),
        }
    }
    if pci_address.is_none() && device == Device::default() {
        let kind = ReadErrorKind::Invalid(
            "nothing is known of the device: \"macAddress\", \"pciAddress\" or \"numaNode\" must have a value"
                .to_owned(),
        );
        return Err(source.error(object.get(), None, kind));
    }
    if device.network.mac_address.is_some() {
        device.host.pci_address = pci_address;
    } else {
        device.guest.pci_address = pci_address;
    }
    Ok(Found {
        document: Document {
            pod: None,
            devices: vec![device],
        },
        rejected: Vec::new(),
    })
}

/// A NUMA node as a number or as digits; the kernel's -1 and `null` are no node.
pub(super) fn node<'a>(
    source: &Source<'a>,
    value: &'a RawValue,
    path: &FieldPath,
    notes: &mut Notes,
) -> Result<Option<NodeId>, ReadError> {
    let number: Option<i64> = if value.get().starts_with('"') {
        let digits: String = parse::plain(source, value, path)?;
        let number = digits.parse().map_err(|_| {
            let shown = crate::error::excerpt(&digits);
            let kind =
                ReadErrorKind::Invalid(format!("{shown:?} is not the number of a NUMA node"));
            source.error(value.get(), path.field(), kind)
        })?;
        Some(number)
    } else {
        parse::plain(source, value, path)?
    };
    match number.map(NodeId::try_from).transpose() {
        Ok(node) => Ok(node),
        Err(crate::NodeError::Negative(number)) => {
            let what = format!("NUMA node {number} means \"no affinity\": no node was taken");
            notes.about(source, value.get(), path, what);
            Ok(None)
        }
        Err(error) => {
            let kind = ReadErrorKind::Invalid(error.to_string());
            Err(source.error(value.get(), path.field(), kind))
        }
    }
}
