//! The routes and rules of all devices: what is missing, what the agent made and nobody wants any
//! more, and who stands in whose way.

use std::collections::BTreeMap;

use super::Action;
use super::controller::tell_port;
use super::draft::Draft;
use super::refusable::{of_guest, refusal};
use super::wishes::{Wish, routes, rules, source_table};
use crate::listing::listing;
use crate::observe::Observation;
use crate::policy::{Family, Prefix};
use crate::routing::{Route, RoutingRule, protocol_words};

/// The kernel has one route with such a key (`NLM_F_EXCL`).
type Key = (Prefix, u32, u32);

/// Rules by the table that they lead to.
type ByTable<'a> = BTreeMap<u32, Vec<&'a RoutingRule>>;

fn by_table<'a>(rules: impl Iterator<Item = &'a RoutingRule>) -> ByTable<'a> {
    let mut by_table = ByTable::new();
    for rule in rules {
        by_table.entry(rule.table).or_default().push(rule);
    }
    by_table
}

/// Plans the routes and rules of every device. `all_found` says that every wanted device was found,
/// so that what nobody wants is nobody's.
pub(super) fn routing(drafts: &mut [Draft<'_>], observation: &Observation, all_found: bool) {
    drafts.iter_mut().for_each(tell_port);
    let wanted_routes: Vec<Vec<Wish<Route>>> = drafts.iter().map(routes).collect();
    let wanted_rules: Vec<Vec<Wish<RoutingRule>>> = drafts.iter().map(rules).collect();
    let mut rivals: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
    for (place, wishes) in wanted_routes.iter().enumerate() {
        for wish in wishes {
            let places = rivals.entry(key(&wish.is)).or_default();
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }
    let names: Vec<String> = drafts.iter().map(|draft| draft.name.to_owned()).collect();
    let mut present: BTreeMap<Key, Vec<&Route>> = BTreeMap::new();
    for route in &observation.routes {
        present.entry(key(route)).or_default().push(route);
    }

    let guest = of_guest(drafts, observation);
    remove_rules(drafts, &wanted_rules, observation, all_found);
    remove_routes(drafts, &rivals, observation, all_found);
    for (place, (draft, wishes)) in drafts.iter_mut().zip(&wanted_routes).enumerate() {
        let all = wishes;
        let mut wishes: Vec<&Wish<Route>> = wishes.iter().collect();
        // What is on the link first: gateways are reached by it.
        wishes.sort_by_key(|wish| wish.is.gateway.is_some());
        let mut done: Vec<&Route> = Vec::new();
        for wish in wishes {
            let others = rivals.get(&key(&wish.is)).into_iter().flatten();
            let others = others.filter(|other| **other != place);
            let others = listing(others.filter_map(|other| names.get(*other)));
            let present = present.get(&key(&wish.is)).map_or(&[][..], Vec::as_slice);
            let is_there = present.iter().any(|other| wish.is.is_met_by(other));
            let wanted = all.iter().map(|wish| &wish.is);
            let refusal = refusal(&wish.is, draft, &guest, wanted).filter(|_| !is_there);
            add_route(draft, wish, &others, present, refusal.as_deref(), &mut done);
        }
    }
    let present = by_table(observation.rules.iter());
    let mut done = BTreeMap::new();
    let mut in_order: Vec<_> = drafts.iter_mut().zip(&wanted_rules).collect();
    in_order.sort_by_key(|(draft, _)| draft.interface.index);
    for (draft, wishes) in in_order {
        add_rules(draft, wishes, &present, &mut done);
    }
}

fn key(route: &Route) -> Key {
    (route.destination, route.table, route.effective_metric())
}

fn add_route<'a>(
    draft: &mut Draft<'_>,
    wish: &'a Wish<Route>,
    others: &str,
    present: &[&Route],
    refusal: Option<&str>,
    done: &mut Vec<&'a Route>,
) {
    let route = &wish.is;
    if done.contains(&route) {
        return;
    }
    if route.destination.family() == Family::Ipv6
        && let Some(why) = &draft.without_ipv6
    {
        let message = format!("{} cannot have the {route}: {why}", draft.name);
        draft.problem(message);
        return;
    }
    if let Some(why) = refusal {
        let message = format!("{} cannot have the {route}: {why}", draft.name);
        draft.problem(message);
        return;
    }
    if !others.is_empty() {
        let message = format!(
            "{} cannot have the {route}: it is wanted for {others} too: give one of them another \
             metric",
            draft.name
        );
        draft.problem(message);
        return;
    }
    if done.iter().any(|other| other.is_in_place_of(route)) {
        let message = format!(
            "{} cannot have the {route}: it is wanted twice with one metric",
            draft.name
        );
        draft.problem(message);
        return;
    }
    done.push(route);
    let present = present.iter().copied();
    let present: Vec<&Route> = present
        .filter(|other| route.is_in_place_of(other))
        .collect();
    if present.iter().any(|other| route.is_met_by(other)) {
        return;
    }
    if let Some(foreign) = present.iter().find(|other| !other.is_own()) {
        let message = format!(
            "{} cannot have the {route}: somebody else (protocol {}) has made the {foreign}{}, \
             which stays: give this one another metric",
            draft.name,
            protocol_words(foreign.protocol),
            through(foreign, draft),
        );
        draft.problem(message);
        return;
    }
    for own in present {
        let action = Action::RemoveRoute { route: own.clone() };
        draft.step(action, wish.key, "it is to lead elsewhere");
    }
    let action = Action::AddRoute {
        route: route.clone(),
    };
    draft.step(action, wish.key, wish.reason.as_str());
}

fn through(route: &Route, draft: &Draft<'_>) -> String {
    let interfaces = &draft.observation.interfaces;
    let interface = interfaces
        .iter()
        .find(|interface| Some(interface.index) == route.interface);
    interface.map_or_else(String::new, |interface| {
        format!(" through {}", interface.name)
    })
}

/// A rule that several devices want is made for the first of them by the interface's index, whatever
/// order the document has them in.
fn add_rules<'a>(
    draft: &mut Draft<'_>,
    wishes: &'a [Wish<RoutingRule>],
    present: &ByTable<'_>,
    done: &mut ByTable<'a>,
) {
    for wish in wishes {
        let rule = &wish.is;
        let present = present.get(&rule.table).map_or(&[][..], Vec::as_slice);
        let done = done.entry(rule.table).or_default();
        if done.contains(&rule) {
            continue;
        }
        if rule.family == Family::Ipv6
            && let Some(why) = &draft.without_ipv6
        {
            // A rule for both families is one for IPv4 then.
            if rule.from.or(rule.to).is_some() {
                let message = format!("{} cannot have the {rule}: {why}", draft.name);
                draft.problem(message);
            }
        } else if !present.iter().any(|other| rule.is_met_by(other)) {
            done.push(rule);
            let action = Action::AddRule { rule: rule.clone() };
            draft.step(action, wish.key, wish.reason.as_str());
        }
    }
}

/// Routes that the agent made and that no device is to have. One that is in the place of a wanted one
/// goes with it.
fn remove_routes(
    drafts: &mut [Draft<'_>],
    wanted: &BTreeMap<Key, Vec<usize>>,
    observation: &Observation,
    all_found: bool,
) {
    for route in observation.routes.iter().filter(|route| route.is_own()) {
        if wanted.contains_key(&key(route)) {
            continue;
        }
        let owner = |draft: &Draft<'_>| {
            route.interface == Some(draft.interface.index)
                || route.table == source_table(draft.interface.index)
        };
        if let Some(draft) = owner_or_first(drafts, owner, all_found) {
            let action = Action::RemoveRoute {
                route: route.clone(),
            };
            draft.step(action, "", "the agent made it, and it is no longer wanted");
        }
    }
}

/// Rules that the agent made and that no device is to have.
fn remove_rules(
    drafts: &mut [Draft<'_>],
    wanted: &[Vec<Wish<RoutingRule>>],
    observation: &Observation,
    all_found: bool,
) {
    let wanted = by_table(wanted.iter().flatten().map(|wish| &wish.is));
    for rule in observation.rules.iter().filter(|rule| rule.is_own()) {
        let wishes = wanted.get(&rule.table);
        if wishes.is_some_and(|wishes| wishes.contains(&rule)) {
            continue;
        }
        let owner = |draft: &Draft<'_>| rule.table == source_table(draft.interface.index);
        if let Some(draft) = owner_or_first(drafts, owner, all_found) {
            let action = Action::RemoveRule { rule: rule.clone() };
            draft.step(action, "", "the agent made it, and it is no longer wanted");
        }
    }
}

/// The device that a leftover belongs to. One that belongs to none falls to the first by the
/// interface's index, where it cannot be that of a device that is not to be seen at the moment.
fn owner_or_first<'d, 'a>(
    drafts: &'d mut [Draft<'a>],
    owner: impl Fn(&Draft<'_>) -> bool,
    all_found: bool,
) -> Option<&'d mut Draft<'a>> {
    let places = drafts.iter().enumerate();
    // An owner comes before the others.
    let first = places
        .map(|(place, draft)| (!owner(draft), draft.interface.index, place))
        .min();
    let place = first.filter(|(is_other, ..)| all_found || !is_other);
    let place = place.map(|(.., place)| place);
    drafts.get_mut(place?)
}
