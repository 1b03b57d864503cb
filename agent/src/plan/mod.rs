//! The planner, a pure function: what is wanted and what is observed to steps and problems.

mod addresses;
mod candidates;
mod configuration;
mod contested;
mod controller;
mod draft;
mod given_macs;
mod identity;
mod in_use;
mod leftovers;
mod making_room;
mod mtu;
mod names;
pub mod pin;
mod pinning;
mod refusable;
mod rename;
pub mod reversal;
mod routing;
mod routing_now;
mod set_down;
mod shared_addresses;
pub mod step;
mod succession;
mod sysctls;
mod wanted;
mod wishes;

use std::collections::BTreeMap;

use device_attributes::report::Reason;
use device_attributes::{DeviceIdentity, PciAddress};
use serde::{Deserialize, Serialize};

pub use controller::{beyond, in_its_place};
pub use leftovers::may_cost_routes;
pub use pin::{Pin, PinSubject};
pub use pinning::{Contested, PinnedInterrupt, PinnedQueue, PinningNow, PinningWanted};
pub use routing_now::{RoutingNow, routing_now};
pub use step::{Action, Others, Step, Sysctl, Transaction};
pub use wanted::{Wanted, asked, wanted};

use candidates::Candidates;
use contested::{contested_interfaces, others, wanted_renames};
use draft::Draft;
use given_macs::GivenMacs;
use identity::{Found, identify};
use names::{Names, name_after, new_names};

use crate::observe::{Interface, Observation};

/// What to do, and what cannot be done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Plan {
    /// What is known of each wanted device, in their order.
    pub devices: Vec<PlannedDevice>,
    /// The steps, in the order that the kernel needs: renames first, since a later step may take
    /// an interface down or up, then each device's own.
    pub transactions: Vec<Transaction>,
}

/// What is known of one wanted device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlannedDevice {
    /// The device, in the host's terms.
    pub identity: DeviceIdentity,
    /// The index of its interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<u32>,
    /// Its PCI function in the guest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pci_address: Option<PciAddress>,
    /// The index of the bond, bridge or VRF that its interface belongs to.
    #[serde(skip)]
    pub controller: Option<u32>,
    /// What stands in the way. A device that was found gets the steps that are still possible.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
    /// What the agent made of it, is wanted no more and stays, and why, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
    /// What of it is wanted near it, and what is, where a policy asks for that. It is told in the status.
    #[serde(skip)]
    pub pinning: Option<PinningNow>,
}

/// What stands in the way of one device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Problem {
    /// In one word.
    pub reason: Reason,
    /// In a sentence.
    pub message: String,
}

impl Plan {
    /// The steps of each device, by its place in the list of wanted devices, in their order.
    pub fn steps_by_device(&self) -> BTreeMap<usize, Vec<&Step>> {
        let mut steps: BTreeMap<usize, Vec<&Step>> = BTreeMap::new();
        for step in self.steps() {
            steps.entry(step.device).or_default().push(step);
        }
        steps
    }

    /// All steps, in their order.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.transactions
            .iter()
            .flat_map(|transaction| &transaction.steps)
    }
}

/// Plans what turns the observed state into the wanted one.
///
/// Pure: the same input gives the same plan, and a state that is as wanted gives no step. A
/// problem of one device leaves the others' steps as they are.
pub fn plan(wanted: &[Wanted], observation: &Observation) -> Plan {
    let candidates = Candidates::of(observation);
    let given = GivenMacs::of(wanted, &candidates, observation);
    let Identified {
        mut devices,
        mut found,
        mut functions,
    } = identified(wanted, &given, &candidates, observation);
    let mut problems = contested_interfaces(&found, wanted);
    found.retain(|(place, ..)| !problems.iter().any(|(contested, _)| contested == place));

    // Else what is no device's at the moment may be that of one that is not to be seen.
    let all_found = devices.iter().all(|device| device.problems.is_empty())
        && problems.is_empty()
        && !(wanted.iter()).any(|wanted| wanted.hands_off || wanted.is_beside_broken);
    // One that is left alone is found and reported, and that is all.
    found.retain(|(_, wanted, _)| !wanted.hands_off);
    functions.retain(|(_, wanted, _)| !wanted.hands_off);

    let former = if all_found {
        making_room::former_names(&found, observation)
    } else {
        Vec::new()
    };
    let mut transactions = making_room::alternative_names(&found, &former, observation, all_found);
    let by_then;
    let observation = if transactions.is_empty() {
        observation
    } else {
        by_then = making_room::without(&transactions, observation);
        for (.., interface) in &mut found {
            *interface = by_then.interface(interface.index).unwrap_or(interface);
        }
        &by_then
    };

    let (mut renames, contested) = wanted_renames(&found);
    problems.extend(contested);
    renames.extend(former.iter().filter_map(|former| {
        Some(rename::Rename {
            device: former.device,
            interface: observation.interface(former.interface)?,
            to: &former.name,
            reason: "another device is to have the name that the agent gave it".to_owned(),
            source: None,
        })
    }));
    let (ordered, blocked) = rename::order(renames, observation);
    transactions.extend(ordered);
    problems.extend(blocked);

    let new_names = new_names(&transactions);
    let names = Names::after(&new_names, observation, &found);
    let own_names: Vec<String> = found
        .iter()
        .map(|(.., interface)| name_after(&new_names, interface))
        .collect();
    let mut drafts: Vec<Draft<'_>> = (found.iter().zip(&own_names))
        .map(|((device, wanted, interface), name)| Draft {
            given_mac: wanted.mac_address.filter(|mac| given.has(interface, *mac)),
            ..Draft::new(*device, wanted, interface, observation, name)
        })
        .collect();
    shared_addresses::refuse_shared(&mut drafts, wanted);
    for draft in &mut drafts {
        configuration::configuration(draft, &names);
    }
    routing::routing(&mut drafts, observation, all_found);
    let taken_back = if all_found {
        leftovers::of_no_device(&mut drafts, &new_names, observation)
    } else {
        Vec::new()
    };
    for draft in succession::by_sources(drafts) {
        let faults = draft.problems.into_iter();
        problems.extend(faults.map(|problem| (draft.device, problem)));
        if let Some(device) = devices.get_mut(draft.device) {
            device.left.extend(draft.left);
        }
        if !draft.steps.is_empty() {
            let steps = draft.steps;
            transactions.push(Transaction { steps });
        }
    }
    transactions.extend(taken_back);
    let subjects = pinning::subjects(&found, &own_names, &functions);
    if all_found {
        transactions.extend(pinning::leftovers::of_no_device(&subjects, observation));
    }
    for subject in &subjects {
        let needs = pinning::pinning(subject, observation);
        transactions.extend(pinning::transaction(needs.steps));
        let faults = needs.problems.into_iter();
        problems.extend(faults.map(|problem| (subject.device, problem)));
        if let Some(device) = devices.get_mut(subject.device) {
            device.pinning = needs.now;
        }
    }
    for (place, problem) in problems {
        if let Some(device) = devices.get_mut(place) {
            device.problems.push(problem);
        }
    }
    Plan {
        devices,
        transactions,
    }
}

/// The wanted devices, and what each turned out to be.
struct Identified<'a> {
    devices: Vec<PlannedDevice>,
    /// Those that are interfaces, by their place.
    found: Vec<(usize, &'a Wanted, &'a Interface)>,
    /// Those that are PCI functions and no interfaces.
    functions: Vec<(usize, &'a Wanted, PciAddress)>,
}

fn identified<'a>(
    wanted: &'a [Wanted],
    given: &GivenMacs,
    candidates: &Candidates<'a>,
    observation: &Observation,
) -> Identified<'a> {
    let mut devices: Vec<PlannedDevice> = Vec::with_capacity(wanted.len());
    let mut found: Vec<(usize, &Wanted, &Interface)> = Vec::new();
    let mut functions: Vec<(usize, &Wanted, PciAddress)> = Vec::new();
    for (place, wanted) in wanted.iter().enumerate() {
        let mut device = PlannedDevice {
            identity: wanted.identity.clone(),
            ..PlannedDevice::default()
        };
        match identify(wanted, given, candidates, observation) {
            Ok(Found::Interface(interface)) => {
                device.interface = Some(interface.index);
                device.controller = interface.controller;
                device.pci_address = interface.pci_address;
                found.push((place, wanted, interface));
            }
            Ok(Found::Function(address)) => {
                device.pci_address = Some(address);
                functions.push((place, wanted, address));
            }
            Err(problem) => device.problems.push(problem),
        }
        devices.push(device);
    }
    Identified {
        devices,
        found,
        functions,
    }
}
