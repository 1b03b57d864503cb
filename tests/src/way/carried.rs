//! What was carried, side by side: the document's word for a device, and the guest's kernel's.

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::facts::NicFacts;
use crate::table::Table;

/// A table of the document's first device and its NIC.
///
/// # Errors
/// When the document is no JSON.
pub fn carried(document: &str, nic: &NicFacts) -> Result<Table> {
    let document: Value =
        serde_json::from_str(document).context("the document does not read back")?;
    let said = |pointer: &str| match document.pointer(&format!("/devices/0{pointer}")) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(list)) => {
            let texts: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
            texts.join(", ")
        }
        Some(value) => value.to_string(),
        None => "-".to_owned(),
    };
    let mut table = Table::new(["", "in the document", "in the guest"]);
    let rows = [
        ("MAC address", said("/network/macAddress"), nic.mac.clone()),
        (
            "interface",
            said("/network/interfaceName"),
            format!("{}, driver {}", nic.name, nic.driver),
        ),
        (
            "addresses",
            said("/network/ipAddresses"),
            nic.addresses.join(", "),
        ),
        (
            "PCI address",
            format!("{} on the host", said("/host/pciAddress")),
            nic.pci_address.clone(),
        ),
        (
            "NUMA node",
            format!("{} on the host", said("/host/numaNode")),
            nic.numa_node.to_string(),
        ),
        (
            "MTU",
            "- (the image's policy says 9000)".to_owned(),
            nic.mtu.to_string(),
        ),
    ];
    for (name, document, guest) in rows {
        table.row([name.to_owned(), document, guest]);
    }
    Ok(table)
}
