//! How far a pass goes: to the end, or only as far as those have to wait who wait for the service.

use std::collections::{BTreeMap, BTreeSet};

use device_attributes::report::Reason;

use crate::plan::{Action, Plan, Step, Transaction, Wanted};
use crate::report::DeviceStatus;

/// How far a pass goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All is done that can be.
    Whole,
    /// A device that is not required gets what a network manager must find (its name, its MAC address), and is not set
    /// up: a driver may take a second for that, in which the kernel changes no other interface either, and the boot
    /// waits for no such device.
    Beginning,
}

/// Takes the steps out of a plan that are left to a later pass, and gives the places of their devices.
pub(crate) fn defer(plan: &mut Plan, wanted: &[Wanted], extent: Extent) -> BTreeSet<usize> {
    let mut deferred = BTreeSet::new();
    if extent == Extent::Whole {
        return deferred;
    }
    for Transaction { steps } in &mut plan.transactions {
        let is_optional = |step: &Step| wanted.get(step.device).is_some_and(|it| it.optional);
        if !steps.iter().all(is_optional) {
            continue;
        }
        let is_later = |step: &Step| {
            matches!(step.action, Action::SetUp(_)) || deferred.contains(&step.device)
        };
        if let Some(first) = steps.iter().position(is_later) {
            deferred.extend(steps.drain(first..).map(|step| step.device));
        }
    }
    plan.transactions.retain(|it| !it.steps.is_empty());
    deferred
}

/// What the reports of deferred devices say until the later pass, which those need that did not fail; whether there is
/// one.
pub(crate) fn mark(
    devices: &mut [DeviceStatus],
    deferred: &BTreeSet<usize>,
    failures: &BTreeMap<usize, String>,
) -> bool {
    let mut goes_on = false;
    for (place, device) in devices.iter_mut().enumerate() {
        let report = &mut device.report;
        if deferred.contains(&place) && !failures.contains_key(&place) && !report.ready {
            goes_on = true;
            report.reason = Reason::Pending;
            "it is not required, so that the boot goes on while it is set up"
                .clone_into(&mut report.message);
        }
    }
    goes_on
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Others;

    fn step(device: usize, action: Action) -> Step {
        Step {
            device,
            interface: 2,
            name: "eth0".to_owned(),
            action,
            reason: String::new(),
            source: None,
        }
    }

    fn rename() -> Action {
        Action::Rename {
            to: "net1".to_owned(),
        }
    }

    fn set_mtu() -> Action {
        Action::SetMtu {
            from: 1500,
            to: 9000,
            ipv6: None,
        }
    }

    /// Device 0 is required, device 1 is not.
    fn deferred(
        steps: &[&[(usize, Action)]],
        extent: Extent,
    ) -> (Vec<usize>, Vec<(usize, Action)>) {
        let wanted = [false, true].map(|optional| Wanted {
            optional,
            ..Wanted::default()
        });
        let transaction = |steps: &&[(usize, Action)]| Transaction {
            steps: (steps.iter())
                .map(|(device, action)| step(*device, action.clone()))
                .collect(),
        };
        let mut plan = Plan {
            devices: Vec::new(),
            transactions: steps.iter().map(transaction).collect(),
        };
        let deferred = defer(&mut plan, &wanted, extent);
        assert!(plan.transactions.iter().all(|it| !it.steps.is_empty()));
        let left = plan.steps().map(|step| (step.device, step.action.clone()));
        (deferred.into_iter().collect(), left.collect())
    }

    #[test]
    fn what_is_not_required_is_named_and_not_set_up() {
        let steps: [&[_]; 4] = [
            &[(0, rename()), (1, rename())],
            &[(0, set_mtu()), (0, Action::SetUp(Others::default()))],
            &[
                (1, set_mtu()),
                (1, Action::SetUp(Others::default())),
                (1, set_mtu()),
            ],
            &[(1, set_mtu())],
        ];
        let (places, left) = deferred(&steps, Extent::Beginning);
        assert_eq!(places, [1]);
        assert_eq!(
            left,
            [
                (0, rename()),
                (1, rename()),
                (0, set_mtu()),
                (0, Action::SetUp(Others::default())),
                (1, set_mtu())
            ]
        );
        let (places, left) = deferred(&steps, Extent::Whole);
        assert!(places.is_empty());
        assert_eq!(left.len(), 8);
    }

    #[test]
    fn what_is_up_is_done_whole() {
        let steps: [&[_]; 1] = [&[(1, set_mtu())]];
        let (places, left) = deferred(&steps, Extent::Beginning);
        assert!(places.is_empty());
        assert_eq!(left.len(), 1);
    }
}
