//! Which units the policy pins, and to what: the part that looks at the guest.

use device_attributes::NodeId;

use super::drop_in::{Bound, Pinned, drop_ins};
use super::has_systemd;
use crate::numa::{Locality, Places};
use crate::owners::DropIn;
use crate::pipeline::Draft;
use crate::plan::PlannedDevice;
use crate::policy::PinTarget;
use crate::roots::Roots;
use crate::small_file;

/// The drop-ins of the units that the policy's `pin` names, and what cannot be, in sentences. A unit of a
/// device that is not there yet has none yet.
pub fn wanted(roots: &Roots, draft: &Draft, places: &Places<'_>) -> (Vec<DropIn>, Vec<String>) {
    let mut pinned = Vec::new();
    let mut troubles = Vec::new();
    let devices = draft.wanted.iter().zip(&draft.plan.devices).enumerate();
    for (place, (wanted, planned)) in devices {
        if wanted.pin.is_empty() || wanted.hands_off || !is_found(planned) {
            continue;
        }
        let device = &wanted.identity;
        let because = match places.of(place, planned.pci_address, sysfs_node(draft, planned)) {
            Ok(Locality::Near(near)) => {
                pinned.extend(wanted.pin.iter().map(|PinTarget::Unit(unit)| Pinned {
                    unit: unit.clone(),
                    device: device.to_string(),
                    near: near.clone(),
                }));
                continue;
            }
            Ok(Locality::Everywhere) => continue,
            Ok(Locality::Unknown(why)) => why,
            Err(error) => error.to_string(),
        };
        troubles.push(format!("{device}: no unit is pinned to it: {because}"));
    }
    if pinned.is_empty() {
        return (Vec::new(), troubles);
    }
    if !has_systemd(roots) {
        troubles.push("no unit is pinned: systemd does not run here".to_owned());
        return (Vec::new(), troubles);
    }
    let (files, more) = drop_ins(&pinned, places.topology(), bound(roots));
    troubles.extend(more);
    (files, troubles)
}

/// Whether the root of cgroup v2 has a cpuset to pass on.
fn bound(roots: &Roots) -> Bound {
    let controllers = roots.sys.join("fs/cgroup/cgroup.controllers");
    let controllers = small_file::read(&controllers).unwrap_or_default();
    let mut controllers = controllers.split(u8::is_ascii_whitespace);
    if controllers.any(|it| it == b"cpuset") {
        Bound::Cpuset
    } else {
        Bound::Affinity
    }
}

fn is_found(device: &PlannedDevice) -> bool {
    device.interface.is_some() || device.pci_address.is_some()
}

/// As the report of the device has it.
fn sysfs_node(draft: &Draft, device: &PlannedDevice) -> Option<NodeId> {
    let observation = &draft.observation;
    let interface = device.interface;
    let interface = interface.and_then(|index| observation.interface(index));
    let function = device.pci_address;
    let function = function.and_then(|address| observation.pci_functions.get(&address));
    interface
        .and_then(|interface| interface.numa_node)
        .or_else(|| function.and_then(|function| function.numa_node))
}
