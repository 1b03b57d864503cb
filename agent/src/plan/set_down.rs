//! Whether an interface that the agent set up can be set down again: who would lose something by that.

use device_attributes::InterfaceAddress;

use super::in_use::{is_through, of_others, own_addresses};
use super::{Action, Others};
use crate::journal::{Entry, Ledger};
use crate::listing::listing;
use crate::observe::{Interface, Observation};

/// What others have on an interface that is down; of routes it has none then.
pub(super) fn others_on(
    interface: &Interface,
    ledger: &Ledger,
    observation: &Observation,
) -> Others {
    let uppers = made_on(interface, observation);
    Others {
        addresses: addresses_of_others(interface, ledger),
        controller: interface.controller,
        interfaces: uppers.map(|upper| upper.index).collect(),
    }
}

/// What others would lose if an interface that the agent set up were set down, beyond what they had on it when
/// it was down.
pub(super) fn in_use(
    entry: &Entry,
    interface: &Interface,
    ledger: &Ledger,
    observation: &Observation,
) -> Option<String> {
    let nothing = Others::default();
    let before = match &entry.last().action {
        Action::SetUp(others) => others,
        _ => &nothing,
    };
    if let Some(index) = interface.controller
        && before.controller != Some(index)
    {
        let controller = observation.interface(index);
        let name = controller.map_or("another interface", |it| it.name.as_str());
        return Some(format!("others made it part of {name}"));
    }
    let mut uppers = made_on(interface, observation);
    let is_since = |upper: &Interface| {
        !before.interfaces.contains(&upper.index) || has_anything(upper, ledger, observation)
    };
    if let Some(upper) = uppers.find(|upper| is_since(upper)) {
        return Some(format!("others made {} on it", upper.name));
    }
    if let Some(route) = of_others(observation).find(|route| is_through(route, interface)) {
        return Some(format!("it has the {route} of others"));
    }
    let mut since = addresses_of_others(interface, ledger);
    since.retain(|address| !before.addresses.contains(address));
    let since = listing(since.iter());
    (!since.is_empty()).then(|| format!("it has {since} of others"))
}

/// Whether others have anything on an interface, or have set it up: a VLAN follows what it is made on, and nothing else
/// does (`vlan_device_event` in `net/8021q/vlan.c`).
fn has_anything(interface: &Interface, ledger: &Ledger, observation: &Observation) -> bool {
    (interface.up && interface.kind.as_deref() != Some("vlan"))
        || others_on(interface, ledger, observation) != Others::default()
        || of_others(observation).any(|route| is_through(route, interface))
}

fn made_on<'a>(
    interface: &Interface,
    observation: &'a Observation,
) -> impl Iterator<Item = &'a Interface> {
    let index = interface.index;
    let interfaces = observation.interfaces.iter();
    interfaces.filter(move |upper| upper.lower == Some(index))
}

/// The addresses that are not the agent's, without those of a range of which the kernel makes one of its own for every
/// interface that is up.
fn addresses_of_others(interface: &Interface, ledger: &Ledger) -> Vec<InterfaceAddress> {
    let own = own_addresses(interface, ledger);
    let addresses = interface.addresses.iter().copied();
    addresses
        .filter(|address| !address.is_ipv6_link_local() && !own.contains(address))
        .collect()
}
