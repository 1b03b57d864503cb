//! What several devices want and only one can have: an interface, a name.

use std::collections::BTreeMap;

use device_attributes::report::Reason;
use device_attributes::{DeviceIdentity, InterfaceName};

use super::{Problem, Wanted, rename};
use crate::listing::listing;
use crate::observe::Interface;

/// Problems of devices that are all the same interface.
pub(super) fn contested_interfaces(
    found: &[(usize, &Wanted, &Interface)],
    wanted: &[Wanted],
) -> Vec<(usize, Problem)> {
    let mut by_index: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (place, _, interface) in found {
        by_index.entry(interface.index).or_default().push(*place);
    }
    found
        .iter()
        .filter_map(|(place, _, interface)| {
            let others = others(by_index.get(&interface.index)?, *place, wanted)?;
            let message = format!("{} is also meant by {others}", interface.name);
            let reason = Reason::Ambiguous;
            Some((*place, Problem { reason, message }))
        })
        .collect()
}

/// The other devices of a group, for a message; none when it has no other.
pub(super) fn others(group: &[usize], place: usize, wanted: &[Wanted]) -> Option<String> {
    let others = group
        .iter()
        .filter(|other| **other != place)
        .filter_map(|other| wanted.get(*other));
    let names = listing(others.map(|wanted| &wanted.identity));
    (!names.is_empty()).then_some(names)
}

/// The renames to do, and problems of devices that want one name.
pub(super) fn wanted_renames<'a>(
    found: &[(usize, &'a Wanted, &'a Interface)],
) -> (Vec<rename::Rename<'a>>, Vec<(usize, Problem)>) {
    let mut by_name: BTreeMap<&InterfaceName, Vec<(usize, &DeviceIdentity)>> = BTreeMap::new();
    for (place, wanted, _) in found {
        if let Some(name) = &wanted.name {
            by_name
                .entry(name)
                .or_default()
                .push((*place, &wanted.identity));
        }
    }
    let mut renames = Vec::new();
    let mut problems = Vec::new();
    for (device, wanted, interface) in found {
        let Some(to) = &wanted.name else { continue };
        let rivals = by_name
            .get(to)
            .into_iter()
            .flatten()
            .filter(|(place, _)| place != device);
        let rivals = listing(rivals.map(|(_, identity)| identity));
        if !rivals.is_empty() {
            let message = format!("the name {to} is also wanted for {rivals}");
            let reason = Reason::InvalidAttributes;
            problems.push((*device, Problem { reason, message }));
        } else if interface.name != to.as_str() {
            renames.push(rename::Rename {
                device: *device,
                interface,
                to,
                reason: format!("its name is to be {to}"),
                source: wanted.sources.get("rename"),
            });
        }
    }
    (renames, problems)
}
