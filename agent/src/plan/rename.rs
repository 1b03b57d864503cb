//! The order of renames: a name must be free before it can be taken, and names may change hands
//! in a circle.

use std::collections::{BTreeMap, BTreeSet};

use device_attributes::InterfaceName;
use device_attributes::report::Reason;

use super::{Action, Problem, Step, Transaction};
use crate::observe::{Interface, Observation};

/// One interface that is to have another name.
#[derive(Debug, Clone)]
pub(super) struct Rename<'a> {
    /// The device's place in the list of wanted devices.
    pub device: usize,
    pub interface: &'a Interface,
    pub to: &'a InterfaceName,
    /// Why, in a sentence.
    pub reason: String,
    /// Where the wish stands.
    pub source: Option<&'a String>,
}

/// Orders the renames that can be done and says what is wrong with the others.
///
/// Renames that depend on one another are one transaction.
pub(super) fn order(
    renames: Vec<Rename<'_>>,
    observation: &Observation,
) -> (Vec<Transaction>, Vec<(usize, Problem)>) {
    let holders = holders(observation);
    let (mut open, problems) = without_blocked(renames, &holders);
    let wanted: BTreeSet<&InterfaceName> = open.values().map(|rename| rename.to).collect();
    let takers = open
        .iter()
        .map(|(index, rename)| (rename.to.as_str(), *index));
    let takers: BTreeMap<&str, u32> = takers.collect();
    let mut transactions = Vec::new();
    while let Some(seed) = open.keys().next().copied() {
        let component = take_component(seed, &mut open, &holders, &takers);
        let steps = component_steps(component, &wanted, &holders);
        transactions.push(Transaction { steps });
    }
    (transactions, problems)
}

/// The interface that has each name now, as its name or as an alternative name.
type Holders<'a> = BTreeMap<&'a str, &'a Interface>;

fn holders(observation: &Observation) -> Holders<'_> {
    let names = observation.interfaces.iter().flat_map(|interface| {
        let alternative = interface.alternative_names.iter();
        let names = alternative.chain([&interface.name]).map(String::as_str);
        names.map(move |name| (name, interface))
    });
    names.collect()
}

/// Splits off the renames whose name will not become free, until no more fall.
///
/// The rest is keyed by interface index.
fn without_blocked<'a>(
    renames: Vec<Rename<'a>>,
    holders: &Holders<'_>,
) -> (BTreeMap<u32, Rename<'a>>, Vec<(usize, Problem)>) {
    let mut open: BTreeMap<u32, Rename<'a>> = renames
        .into_iter()
        .map(|rename| (rename.interface.index, rename))
        .collect();
    let mut problems = Vec::new();
    loop {
        let blocked: Vec<(u32, String)> = open
            .values()
            .filter_map(|rename| {
                obstacle(rename, &open, holders).map(|what| (rename.interface.index, what))
            })
            .collect();
        if blocked.is_empty() {
            return (open, problems);
        }
        for (index, message) in blocked {
            if let Some(rename) = open.remove(&index) {
                let reason = Reason::ConfigurationFailed;
                problems.push((rename.device, Problem { reason, message }));
            }
        }
    }
}

fn obstacle(
    rename: &Rename<'_>,
    open: &BTreeMap<u32, Rename<'_>>,
    holders: &Holders<'_>,
) -> Option<String> {
    let holder = holders.get(rename.to.as_str())?;
    let from = &rename.interface.name;
    let to = rename.to;
    // Of its own it is taken away first.
    if holder.index == rename.interface.index {
        return None;
    }
    if holder.name != to.as_str() {
        return Some(format!(
            "{from} cannot be renamed to {to}: that is an alternative name of {}",
            holder.name
        ));
    }
    if open.contains_key(&holder.index) {
        return None;
    }
    Some(format!(
        "{from} cannot be renamed to {to}: another interface (index {}) has that name and keeps it",
        holder.index
    ))
}

/// Takes out all renames that depend on one another with `seed`: each needs the name of at most
/// one other, and each name is wanted by at most one, so they are a chain or a circle.
///
/// `takers` has who is to have each name.
fn take_component<'a>(
    seed: u32,
    open: &mut BTreeMap<u32, Rename<'a>>,
    holders: &Holders<'_>,
    takers: &BTreeMap<&str, u32>,
) -> Vec<Rename<'a>> {
    let mut component: Vec<Rename<'a>> = open.remove(&seed).into_iter().collect();
    let mut from = 0;
    while let Some(rename) = component.get(from).cloned() {
        let holder = holders.get(rename.to.as_str()).map(|holder| holder.index);
        let taker = takers.get(rename.interface.name.as_str()).copied();
        let neighbours = [holder, taker].into_iter().flatten();
        component.extend(neighbours.filter_map(|index| open.remove(&index)));
        from += 1;
    }
    component.sort_by_key(|rename| rename.interface.index);
    component
}

fn component_steps(
    mut waiting: Vec<Rename<'_>>,
    wanted: &BTreeSet<&InterfaceName>,
    holders: &Holders<'_>,
) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut parked: Option<(Rename<'_>, String)> = None;
    while !waiting.is_empty() {
        let free = waiting.iter().position(|rename| {
            !waiting
                .iter()
                .any(|other| other.interface.name == rename.to.as_str())
        });
        if let Some(position) = free {
            let rename = waiting.remove(position);
            steps.extend(final_steps(&rename, &rename.interface.name));
        } else {
            // A circle: every name is held by a member. One steps aside, once.
            let rename = waiting.remove(0);
            let temporary = temporary_name(&rename, wanted, holders);
            let why = format!("{} and its holder change places", rename.to);
            let action = Action::Rename {
                to: temporary.clone(),
            };
            steps.push(step(&rename, &rename.interface.name, action, why));
            parked = Some((rename, temporary));
        }
    }
    if let Some((rename, temporary)) = parked {
        steps.extend(final_steps(&rename, &temporary));
    }
    steps
}

/// The steps from the name that it has to its wanted one.
fn final_steps(rename: &Rename<'_>, from: &str) -> impl Iterator<Item = Step> {
    let to = rename.to.as_str();
    let is_alternative = rename
        .interface
        .alternative_names
        .iter()
        .any(|name| name == to);
    let freeing = is_alternative.then(|| {
        let alternative = to.to_owned();
        let why = format!("it is to be its own name: the kernel has {to} once only");
        step(
            rename,
            from,
            Action::RemoveAlternativeName { alternative },
            why,
        )
    });
    let action = Action::Rename { to: to.to_owned() };
    let why = rename.reason.clone();
    freeing.into_iter().chain([step(rename, from, action, why)])
}

fn step(rename: &Rename<'_>, from: &str, action: Action, reason: String) -> Step {
    Step {
        device: rename.device,
        interface: rename.interface.index,
        name: from.to_owned(),
        action,
        reason,
        source: rename.source.cloned(),
    }
}

/// A name of at most 15 bytes, whatever the interface's own name is, that no interface has now and
/// none is given by this plan.
fn temporary_name(
    rename: &Rename<'_>,
    wanted: &BTreeSet<&InterfaceName>,
    holders: &Holders<'_>,
) -> String {
    let index = rename.interface.index;
    let mut name = format!("dra{index}");
    let mut salt = 0;
    while holders.contains_key(name.as_str()) || wanted.iter().any(|to| to.as_str() == name) {
        salt += 1;
        name = format!("dra{salt}x{}", index % 10_000);
    }
    name
}
