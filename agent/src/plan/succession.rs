//! Which device comes first: one from whose address another's route is sent comes before that one, as the kernel takes
//! no route from an address that the guest does not have (`fib_valid_prefsrc` in `net/ipv4/fib_semantics.c`,
//! `ip6_route_info_create` in `net/ipv6/route.c`).

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::draft::Draft;
use super::{Action, Step};

/// Puts the devices in such an order; those that need nothing of one another stay in theirs. Of devices that need one
/// another the first comes first.
pub(super) fn by_sources(drafts: Vec<Draft<'_>>) -> Vec<Draft<'_>> {
    let added = drafts.iter().enumerate().flat_map(|(place, draft)| {
        let steps = draft.steps.iter();
        steps.filter_map(move |step| Some((added_address(step)?, place)))
    });
    let added: BTreeMap<IpAddr, usize> = added.collect();
    let needs = drafts.iter().enumerate().map(|(place, draft)| {
        let sources = draft.steps.iter().filter_map(source);
        let places = sources.filter_map(|source| added.get(&source).copied());
        places.filter(|other| *other != place).collect()
    });
    let mut needs: Vec<BTreeSet<usize>> = needs.collect();
    if needs.iter().all(BTreeSet::is_empty) {
        return drafts;
    }
    let mut left: BTreeMap<usize, Draft<'_>> = drafts.into_iter().enumerate().collect();
    let mut ordered = Vec::with_capacity(left.len());
    loop {
        let is_free = |place: &&usize| needs.get(**place).is_none_or(BTreeSet::is_empty);
        let Some(next) = left.keys().find(is_free).or_else(|| left.keys().next()) else {
            return ordered;
        };
        let next = *next;
        ordered.extend(left.remove(&next));
        for others in &mut needs {
            others.remove(&next);
        }
    }
}

fn added_address(step: &Step) -> Option<IpAddr> {
    match &step.action {
        Action::AddAddress { address } => Some(address.ip()),
        _ => None,
    }
}

fn source(step: &Step) -> Option<IpAddr> {
    match &step.action {
        Action::AddRoute { route } => route.source,
        _ => None,
    }
}
