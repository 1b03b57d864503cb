//! The one table of attribute keys that mean the same thing under different names.
//!
//! Names differ by driver: `resource.kubernetes.io/…` is the standard (`deviceattribute` of
//! `k8s.io/dynamic-resource-allocation`), the rest is what drivers publish. A key without a domain
//! is the driver's own and may also come as `<driver>/<key>`. The first key of a row that holds a
//! usable value wins; the raw attributes still show all of them.

use std::collections::BTreeMap;
use std::fmt::Display;

use crate::{AttributeValue, Host, MacAddress, Name, NodeError, NodeId, PciAddress};

const PCI_ADDRESS: [&str; 5] = [
    "resource.kubernetes.io/pciBusID",
    "resource.k8s.io/pciBusID",
    "dra.net/pciAddress",
    "pciBusID",
    "pciAddress",
];

const PCIE_ROOT: [&str; 3] = [
    "resource.kubernetes.io/pcieRoot",
    "resource.k8s.io/pcieRoot",
    "pcieRoot",
];

const NUMA_NODE: [&str; 8] = [
    "resource.kubernetes.io/numaNode",
    "resource.k8s.io/numaNode",
    "dra.net/numaNode",
    "dra.cpu/numaNodeID",
    "dra.memory/numaNode",
    "numaNode",
    "numaNodeID",
    "numa",
];

const MAC_ADDRESS: [&str; 4] = ["dra.net/mac", "macAddress", "mac", "hardwareAddress"];

type Attributes = BTreeMap<String, AttributeValue>;

/// What attributes say in the document's terms.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Normalised {
    /// The host's side.
    pub(crate) host: Host,
    /// The MAC address and the key that it stands under.
    pub(crate) mac_address: Option<(String, MacAddress)>,
    /// What could not be used, and what differs.
    pub(crate) remarks: Vec<Remark>,
}

/// Something to say about one attribute.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Remark {
    /// The attribute's key.
    pub(crate) key: String,
    /// What there is to say.
    pub(crate) what: String,
}

/// Brings the attributes of a driver's device into the document's terms.
pub(crate) fn normalise(driver: &str, attributes: &Attributes) -> Normalised {
    let mut remarks = Vec::new();
    let mut row = Row {
        driver,
        attributes,
        remarks: &mut remarks,
    };
    let host = Host {
        pci_address: row
            .first(&PCI_ADDRESS, text::<PciAddress>)
            .map(|(_, value)| value),
        pcie_root: row.first(&PCIE_ROOT, text::<Name>).map(|(_, value)| value),
        numa_node: row.first(&NUMA_NODE, node).map(|(_, value)| value),
    };
    let mac_address = row.first(&MAC_ADDRESS, text);
    Normalised {
        host,
        mac_address,
        remarks,
    }
}

struct Row<'a> {
    driver: &'a str,
    attributes: &'a Attributes,
    remarks: &'a mut Vec<Remark>,
}

impl<'a> Row<'a> {
    /// The first usable value and its key. `None` from `parse` is a value as well: "there is none".
    fn first<T: PartialEq + Display>(
        &mut self,
        keys: &[&str],
        parse: fn(&AttributeValue) -> Result<Option<T>, String>,
    ) -> Option<(String, T)> {
        let mut chosen: Option<(String, Option<T>)> = None;
        let present: Vec<_> = keys.iter().flat_map(|key| self.spellings(key)).collect();
        for (key, attribute) in present {
            let value = match parse(attribute) {
                Ok(value) => value,
                Err(why) => {
                    let what = format!("left out: {why}");
                    self.remarks.push(Remark { key, what });
                    continue;
                }
            };
            match &chosen {
                None => {
                    if value.is_none() {
                        let what = "this says that there is none".to_owned();
                        let key = key.clone();
                        self.remarks.push(Remark { key, what });
                    }
                    chosen = Some((key, value));
                }
                Some((first, taken)) if *taken != value => {
                    let what = format!(
                        "this is {}, but {first} is {}, which was taken",
                        shown(value.as_ref()),
                        shown(taken.as_ref())
                    );
                    self.remarks.push(Remark { key, what });
                }
                Some(_) => {}
            }
        }
        let (key, value) = chosen?;
        Some((key, value?))
    }

    /// The attribute under its key, then under the driver's own domain.
    fn spellings(&self, key: &str) -> Vec<(String, &'a AttributeValue)> {
        let qualified = (!key.contains('/')).then(|| format!("{}/{key}", self.driver));
        let keys = [Some(key.to_owned()), qualified];
        let found = keys.into_iter().flatten().filter_map(|key| {
            let attribute = self.attributes.get(&key)?;
            Some((key, attribute))
        });
        found.collect()
    }
}

fn shown<T: Display>(value: Option<&T>) -> String {
    value.map_or_else(|| "none".to_owned(), ToString::to_string)
}

/// A text, or the first of a list.
fn text<T>(attribute: &AttributeValue) -> Result<Option<T>, String>
where
    T: std::str::FromStr,
    T::Err: Display,
{
    let text = match attribute {
        AttributeValue::String(text) => text,
        AttributeValue::Strings(list) => list.first().ok_or("the list is empty")?,
        _ => return Err("a string is expected".to_owned()),
    };
    text.parse()
        .map(Some)
        .map_err(|error: T::Err| error.to_string())
}

impl crate::Device {
    /// The host's NUMA nodes that it is near, the one that it is on first: more than one where the
    /// driver publishes a list (KEP-6072).
    pub fn host_numa_nodes(&self) -> Vec<NodeId> {
        let Some(on) = self.host.numa_node else {
            return Vec::new();
        };
        let mut remarks = Vec::new();
        let row = Row {
            driver: self.driver.as_ref().map_or("", Name::as_str),
            attributes: &self.attributes,
            remarks: &mut remarks,
        };
        let attributes = NUMA_NODE.iter().flat_map(|key| row.spellings(key));
        let mut lists = attributes.filter_map(|(_, attribute)| nodes(attribute));
        // Another list than the one that its node was taken from is another's word.
        let list = lists.find(|list| list.first() == Some(&on));
        list.unwrap_or_else(|| vec![on])
    }
}

/// All of a list, each once; none when it is no list of nodes.
fn nodes(attribute: &AttributeValue) -> Option<Vec<NodeId>> {
    let AttributeValue::Ints(list) = attribute else {
        return None;
    };
    let mut nodes = Vec::new();
    for number in list {
        let node = NodeId::try_from(*number).ok()?;
        if !nodes.contains(&node) {
            nodes.push(node);
        }
    }
    Some(nodes)
}

/// A number or digits, or the first of a list: KEP-6072 puts the physical node first.
fn node(attribute: &AttributeValue) -> Result<Option<NodeId>, String> {
    let digits = |text: &String| {
        let shown = crate::error::excerpt(text);
        let number = text.parse::<i64>();
        number.map_err(|_| format!("{shown:?} is not the number of a NUMA node"))
    };
    let number = match attribute {
        AttributeValue::Int(number) => *number,
        AttributeValue::Ints(list) => *list.first().ok_or("the list is empty")?,
        AttributeValue::String(text) => digits(text)?,
        AttributeValue::Strings(list) => digits(list.first().ok_or("the list is empty")?)?,
        _ => return Err("a number is expected".to_owned()),
    };
    match NodeId::try_from(number) {
        Ok(node) => Ok(Some(node)),
        // The kernel's "no affinity": the device has no node, whatever another key says.
        Err(NodeError::Negative(_)) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests;
