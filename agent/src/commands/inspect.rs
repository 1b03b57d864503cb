//! `inspect`: what this guest has.

use super::{connect, print, print_json};
use crate::exit::{Ended, Exit};
use crate::observe::{Asked, Interface, Observation, observe};
use crate::roots::Roots;

pub(super) async fn inspect(roots: &Roots, json: bool) -> Result<Exit, Ended> {
    let netlink = connect()?;
    let observation = observe(&netlink, roots, &Asked::all())
        .await
        .map_err(Ended::failed)?;
    if json {
        print_json(&observation)?;
    } else if observation.interfaces.is_empty() {
        print("no network interface but lo")?;
    }
    if !json {
        for interface in &observation.interfaces {
            print(line(interface, &observation))?;
        }
    }
    Ok(Exit::Done)
}

fn line(interface: &Interface, observation: &Observation) -> String {
    let state = if interface.up { "up" } else { "down" };
    let mut parts = vec![format!(
        "{}: {}: {state}, MTU {}",
        interface.index, interface.name, interface.mtu
    )];
    if let Some(kind) = &interface.kind {
        parts.push(kind.clone());
    }
    if let Some(table) = interface.vrf_table {
        parts.push(format!("table {table}"));
    }
    if let Some(controller) = interface.controller {
        let controller = observation.interface(controller);
        parts.extend(controller.map(|it| format!("part of {}", it.name)));
    }
    if let Some(mac) = interface.mac_address {
        parts.push(format!("MAC {mac}"));
    }
    if let Some(mac) = interface
        .permanent_mac_address
        .filter(|mac| Some(*mac) != interface.mac_address)
    {
        parts.push(format!("permanent MAC {mac}"));
    }
    if let Some(address) = interface.pci_address {
        parts.push(format!("PCI {address}"));
    }
    if let Some(node) = interface.numa_node {
        parts.push(format!("NUMA node {node}"));
    }
    parts.extend(interface.addresses.iter().map(ToString::to_string));
    parts.join(", ")
}
