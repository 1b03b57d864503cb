//! How the wanted devices stand with the guest's network managers.

use std::collections::BTreeSet;

use super::{Manager, Managers, Ours, Owner};
use crate::journal::Thing;
use crate::listing::listing;
use crate::observe::{Interface, Observation};
use crate::plan::{Plan, Wanted};
use crate::policy::Coexistence;
use crate::roots::Roots;
use crate::routing::{Route, RoutingRule};

/// How the wanted devices stand with the managers.
#[derive(Debug, Default)]
pub struct Standing {
    /// Who else configures each device, by its place in the list of wanted devices.
    owners: Vec<Vec<Owner>>,
    /// The devices that are left to another, by the policy's word.
    left: BTreeSet<usize>,
}

impl Standing {
    /// Looks who else configures the devices that were found.
    pub fn look(roots: &Roots, wanted: &[Wanted], observation: &Observation, plan: &Plan) -> Self {
        let managers = Managers::look(roots);
        let owners: Vec<Vec<Owner>> = wanted
            .iter()
            .enumerate()
            .map(|(place, wanted)| match found(place, plan, observation) {
                Some(interface) if !wanted.hands_off => {
                    let name = wanted
                        .name
                        .as_ref()
                        .map(device_attributes::InterfaceName::as_str);
                    managers.owners_of(interface, name)
                }
                _ => Vec::new(),
            })
            .collect();
        let left = wanted
            .iter()
            .zip(&owners)
            .enumerate()
            .filter(|(_, (wanted, owners))| {
                wanted.coexistence == Coexistence::Leave && !owners.is_empty()
            })
            .map(|(place, _)| place)
            .collect();
        Self { owners, left }
    }

    /// Whether a device is left to another.
    pub fn is_left(&self, place: usize) -> bool {
        self.left.contains(&place)
    }

    /// Whether a manager that can be told has a device that is not left to it.
    pub fn is_contested(&self) -> bool {
        let mut owners = self.owners.iter().enumerate();
        owners.any(|(place, owners)| {
            let mut managers = owners.iter().map(|owner| owner.manager);
            !self.is_left(place) && managers.any(|manager| manager != Manager::Ifupdown)
        })
    }

    /// What a device's report says of its other owners; empty when it has none.
    pub fn words(&self, place: usize) -> String {
        let owners = listing(self.owners.get(place).into_iter().flatten());
        if owners.is_empty() {
            owners
        } else if self.is_left(place) {
            format!("left to {owners}, as the policy says")
        } else {
            format!("configured by {owners} as well")
        }
    }
}

/// The interfaces to be handed over to the agent: those of every device that the policy does not leave
/// to a manager, whether they are there yet or not. Where the document has entries that cannot be used
/// (`is_whole` is false), what the agent configured before stays its own: it may be theirs.
pub fn ours(
    wanted: &[Wanted],
    observation: &Observation,
    plan: &Plan,
    is_whole: bool,
) -> Vec<Ours> {
    let ours = wanted.iter().enumerate().filter_map(|(place, wanted)| {
        if wanted.hands_off || wanted.coexistence == Coexistence::Leave {
            return None;
        }
        let name = wanted.name.clone();
        let (mac_address, is_permanent) = match found(place, plan, observation) {
            Some(interface) => match interface.permanent_mac_address {
                Some(mac) => (mac, true),
                None => (interface.mac_address?, false),
            },
            None => (wanted.mac_address?, true),
        };
        Some(Ours {
            mac_address,
            is_permanent,
            current: found(place, plan, observation).and_then(|interface| interface.mac_address),
            name,
            has_routing: wanted.has_routing(),
        })
    });
    let mut ours: Vec<Ours> = ours.collect();
    if !is_whole {
        ours.extend(configured_before(observation, plan));
    }
    ours
}

/// The interfaces that the agent has configured, by its journal, and that are no device's now.
fn configured_before(observation: &Observation, plan: &Plan) -> impl Iterator<Item = Ours> {
    let journal = &observation.journal;
    let devices = plan.devices.iter();
    let devices: BTreeSet<u32> = devices.filter_map(|device| device.interface).collect();
    journal.interfaces().filter_map(move |index| {
        let interface = observation.interface(index)?;
        // What is made on another only follows its MTU.
        if devices.contains(&index) || interface.lower.is_some() {
            return None;
        }
        let named = Thing::Name(index);
        let is_named = journal
            .of_interface(index)
            .iter()
            .any(|it| it.thing == named);
        let mut routes = observation.routes.iter();
        let permanent = interface.permanent_mac_address;
        Some(Ours {
            mac_address: permanent.or(interface.mac_address)?,
            is_permanent: permanent.is_some(),
            current: interface.mac_address,
            name: interface.name.parse().ok().filter(|_| is_named),
            has_routing: routes.any(Route::is_own)
                || observation.rules.iter().any(RoutingRule::is_own),
        })
    })
}

/// The interface that a device turned out to be.
pub fn found<'a>(place: usize, plan: &Plan, observation: &'a Observation) -> Option<&'a Interface> {
    observation.interface(plan.devices.get(place)?.interface?)
}
