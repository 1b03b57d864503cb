//! The `[numa]` table: what holds of the guest's NUMA nodes as a whole.

use std::collections::BTreeMap;

use device_attributes::{NodeId, one_line};
use toml::de::DeValue;

use super::reader::{EXCERPT, Reader, Table, Value};
use super::values::table;
use crate::numa::NodeList;

/// Which nodes of the guest each node of the host is.
pub type HostNodes = BTreeMap<NodeId, NodeList>;

/// Reads the `[numa]` table of a file.
pub(super) fn read(file: &mut Table<'_>) -> HostNodes {
    let read = table(|table| table.key("host-to-guest", host_to_guest));
    file.key("numa", read).unwrap_or_default()
}

/// `{0 = 1, 1 = [2, 3]}`: a node of the host, and the guest's node or nodes that it is.
fn host_to_guest(reader: &mut Reader, value: &Value<'_>) -> Option<HostNodes> {
    let Some(entries) = value.get_ref().as_table() else {
        reader.wrong_type(value, "a table like {0 = 0, 1 = 1}");
        return None;
    };
    let mut nodes = BTreeMap::new();
    for (host, guest) in entries {
        let text: &str = host.get_ref();
        let number = text.parse::<i64>().ok().map(NodeId::try_from);
        let Some(Ok(host_node)) = number else {
            let text = one_line(text, EXCERPT);
            let message = format!(
                "`{text}` is no NUMA node of the host: write a number from 0 to 1023 there"
            );
            reader.mistake(host.span(), message);
            continue;
        };
        if let Some(guest) = guest_nodes(reader, guest) {
            nodes.insert(host_node, guest);
        }
    }
    Some(nodes)
}

fn guest_nodes(reader: &mut Reader, value: &Value<'_>) -> Option<NodeList> {
    if !matches!(value.get_ref(), DeValue::Array(_)) {
        return node(reader, value).map(|node| [node].into_iter().collect());
    }
    let nodes = super::values::list(node)(reader, value)?;
    if nodes.is_empty() {
        reader.mistake(value.span(), "a list without a node: leave the key out");
        return None;
    }
    Some(nodes.into_iter().collect())
}

fn node(reader: &mut Reader, value: &Value<'_>) -> Option<NodeId> {
    let number = super::values::integer("a NUMA node", 0..=1023)(reader, value)?;
    NodeId::try_from(i64::from(number)).ok()
}
