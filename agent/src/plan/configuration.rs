//! What one interface needs beside its name: MTU, up, addresses.

use std::collections::BTreeSet;

use device_attributes::report::Reason;

use super::{Action, Problem, Step, Wanted};
use crate::observe::Interface;

/// What one interface needs beside its name; `name` is the one it has by then.
pub(super) fn configuration(
    device: usize,
    wanted: &Wanted,
    interface: &Interface,
    name: &str,
) -> (Vec<Step>, Vec<Problem>) {
    let step = |action, reason: String| Step {
        device,
        interface: interface.index,
        name: name.to_owned(),
        action,
        reason,
    };
    let mut steps = Vec::new();
    let mut problems = Vec::new();
    let mut problem = |message| {
        problems.push(Problem {
            reason: Reason::ConfigurationFailed,
            message,
        });
    };
    if let Some(to) = wanted.mtu.filter(|mtu| *mtu != interface.mtu) {
        if let Some(message) = unfit_mtu(to, interface) {
            problem(message);
        } else {
            let from = interface.mtu;
            steps.push(step(
                Action::SetMtu { from, to },
                format!("its MTU is to be {to}"),
            ));
        }
    }
    if !interface.up && !wanted.hands_off {
        steps.push(step(Action::SetUp, "it is down".to_owned()));
    }
    let mut seen = BTreeSet::new();
    for address in &wanted.addresses {
        if interface.duplicate_addresses.contains(address) {
            problem(format!(
                "another host of the link has the address {address} too: duplicate address \
                 detection keeps {name} from using it"
            ));
        } else if seen.insert(address) && !interface.addresses.contains(address) {
            let address = *address;
            steps.push(step(
                Action::AddAddress { address },
                "it does not have this address".to_owned(),
            ));
        }
    }
    (steps, problems)
}

fn unfit_mtu(mtu: u32, interface: &Interface) -> Option<String> {
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
