//! The MTU of an interface, within its device's bounds and what is built on it.

use super::draft::Draft;
use super::in_use::{above, ipv6_of_bridge, ipv6_of_others, mtu_in_use};
use super::{Action, leftovers};
use crate::observe::{IPV6_LEAST_MTU, Interface, Ipv6, Ipv6Settings, Observation};

/// Plans the MTU, and gives the one that the interface has then.
pub(super) fn mtu(draft: &mut Draft<'_>) -> u32 {
    let interface = draft.interface;
    let from = interface.mtu;
    let Some(wanted) = draft.wanted.mtu else {
        return put_back(draft);
    };
    let Some(to) = Some(wanted).filter(|mtu| *mtu != from) else {
        return from;
    };
    let above: Vec<&Interface> = above(interface, draft.observation)
        .into_iter()
        .filter(|upper| upper.mtu > to)
        .collect();
    let unfit = unfit(to, interface)
        .or_else(|| kept_by_controller(to, draft))
        .or_else(|| above.iter().find_map(|upper| unfit(to, upper)))
        .or_else(|| {
            let observation = draft.observation;
            let mut shrinking = above.iter().copied().chain([interface]);
            shrinking.find_map(|it| ipv6_of_others(to, it, &observation.journal, observation))
        })
        .or_else(|| ipv6_of_bridge(to, interface, draft.observation));
    if let Some(message) = unfit {
        draft.problem(message);
        return from;
    }
    // The kernel would shrink them too, and not let them grow again when this is undone.
    for upper in above {
        let reason = format!(
            "it is made on {}, whose MTU is to be less than its own",
            draft.name
        );
        let action = Action::SetMtu {
            from: upper.mtu,
            to,
            ipv6: ipv6(upper, to, draft.observation),
        };
        draft.step_of(upper.index, upper.name.clone(), action, "mtu", reason);
    }
    let reason = format!("its MTU is to be {to}");
    let ipv6 = ipv6(interface, to, draft.observation);
    draft.step(Action::SetMtu { from, to, ipv6 }, "mtu", reason);
    to
}

/// Puts back what the agent set, of the interface and then of what is made on it. One that others have
/// made something on with that MTU keeps it.
fn put_back(draft: &mut Draft<'_>) -> u32 {
    let (interface, observation) = (draft.interface, draft.observation);
    let now = interface.mtu;
    let uppers = above(interface, observation);
    let to = leftovers::mtu_before(interface, observation).filter(|to| {
        let why = unfit(*to, interface)
            .or_else(|| kept_by_controller(*to, draft))
            .or_else(|| mtu_in_use(*to, interface, &observation.journal, observation));
        let name = draft.name;
        let left =
            why.map(|why| format!("{name} keeps its MTU of {now}, which is wanted no more: {why}"));
        draft.left.extend(left.iter().cloned());
        left.is_none()
    });
    if let Some(to) = to {
        let ipv6 = ipv6(interface, to, observation);
        let from = now;
        let action = Action::SetMtu { from, to, ipv6 };
        draft.step(action, "", leftovers::was(to));
    }
    let after = to.unwrap_or(now);
    for upper in uppers.into_iter().rev() {
        let before = leftovers::mtu_before(upper, observation).filter(|to| *to <= after);
        if let Some(to) = before {
            let action = Action::SetMtu {
                from: upper.mtu,
                to,
                ipv6: ipv6(upper, to, observation),
            };
            let name = upper.name.clone();
            draft.step_of(upper.index, name, action, "", leftovers::was(to));
        }
    }
    after
}

fn unfit(mtu: u32, interface: &Interface) -> Option<String> {
    let name = &interface.name;
    match (interface.min_mtu, interface.max_mtu) {
        (Some(min), _) if mtu < min => Some(format!(
            "an MTU of {mtu} is below {min}, the least that {name} takes"
        )),
        (_, Some(max)) if mtu > max => Some(format!(
            "an MTU of {mtu} is above {max}, the most that {name} takes"
        )),
        _ => None,
    }
}

/// What IPv6 of an interface is set to, or was before its MTU was below the least of IPv6.
fn ipv6(interface: &Interface, to: u32, observation: &Observation) -> Option<Ipv6Settings> {
    if interface.mtu.min(to) >= IPV6_LEAST_MTU {
        return None;
    }
    match interface.ipv6 {
        Ipv6::Enabled | Ipv6::Disabled => interface.ipv6_settings.clone(),
        Ipv6::BelowMinimumMtu => leftovers::ipv6_before(interface, observation),
        Ipv6::NotInKernel => None,
    }
}

/// Whether a controller has one MTU with its ports, as a bond, a team or a failover device does. A bridge follows the
/// least of its ports'.
pub(super) fn is_shared(controller: &Interface) -> bool {
    matches!(controller.kind.as_deref(), None | Some("bond" | "team"))
}

fn kept_by_controller(mtu: u32, draft: &Draft<'_>) -> Option<String> {
    let controller = draft.controller?;
    (is_shared(controller) && controller.mtu != mtu).then(|| {
        format!(
            "{} is a port of {controller}, whose MTU of {} its ports share: an MTU of {mtu} is to \
             be set for {controller}",
            draft.name,
            controller.mtu,
            controller = controller.name,
        )
    })
}
