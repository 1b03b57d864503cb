//! Whether `NetworkManager` configures an interface.
//!
//! Its state for each device is a file in `/run/NetworkManager/devices`. Before it has written one it
//! is taken to want every Ethernet interface, as it does, unless our own drop-in stands.

use super::{Manager, Owner, drop_ins, ini, text};
use crate::observe::Interface;
use crate::roots::Roots;

/// Whether it runs: it makes the directory when it starts.
pub(super) fn is_running(roots: &Roots) -> bool {
    roots.run.join("NetworkManager/devices").exists()
}

pub(super) fn owner(roots: &Roots, interface: &Interface) -> Option<Owner> {
    let state = roots
        .run
        .join(format!("NetworkManager/devices/{}", interface.index));
    let owns = match text(&state) {
        Some(state) => ini::value(&state, "device", "managed").is_some_and(ini::is_true),
        None => !is_told(roots, interface),
    };
    owns.then_some(Owner {
        manager: Manager::NetworkManager,
        file: None,
    })
}

/// Whether our drop-in names the interface.
fn is_told(roots: &Roots, interface: &Interface) -> bool {
    let Some(told) = text(&roots.run.join(drop_ins::NETWORK_MANAGER)) else {
        return false;
    };
    let mac = interface.permanent_mac_address.or(interface.mac_address);
    mac.is_some_and(|mac| told.contains(&mac.to_string()))
}
