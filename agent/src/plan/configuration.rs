//! What one interface needs beside its name: MTU, up, addresses.

use device_attributes::report::Reason;

use super::{Action, Problem, Step, Wanted};
use crate::observe::Interface;

/// What one interface needs beside its name; `name` is the one it has by then.
pub(super) fn configuration(
    device: usize,
    wanted: &Wanted,
    interface: &Interface,
    name: &str,
) -> (Vec<Step>, Option<Problem>) {
    let step = |action, reason: String| Step {
        device,
        interface: interface.index,
        name: name.to_owned(),
        action,
        reason,
    };
    let mut steps = Vec::new();
    let mut problem = None;
    if let Some(to) = wanted.mtu.filter(|mtu| *mtu != interface.mtu) {
        if let Some(message) = unfit_mtu(to, interface) {
            let reason = Reason::ConfigurationFailed;
            problem = Some(Problem { reason, message });
        } else {
            let from = interface.mtu;
            steps.push(step(
                Action::SetMtu { from, to },
                format!("its MTU is to be {to}"),
            ));
        }
    }
    if !interface.up {
        steps.push(step(Action::SetUp, "it is down".to_owned()));
    }
    for address in &wanted.addresses {
        if !interface.addresses.contains(address) {
            let address = *address;
            steps.push(step(
                Action::AddAddress { address },
                "it does not have this address".to_owned(),
            ));
        }
    }
    (steps, problem)
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
