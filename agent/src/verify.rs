//! Verification: what a fresh look at the kernel says of each device, never what was asked for.

use std::collections::{BTreeMap, BTreeSet};

use device_attributes::InterfaceAddress;
use device_attributes::read::Rejected;
use device_attributes::report::{DeviceReport, Reason};

use crate::listing::listing;
use crate::observe::{Interface, Observation};
use crate::plan::{PlannedDevice, Problem, Wanted, in_its_place, plan};
use crate::report::DeviceStatus;

/// Judges every device by an observation made after the steps were applied.
///
/// `failures` holds, by the device's place, what the kernel refused. A device is ready when it
/// was found, nothing stands in its way, and planning anew finds nothing left to do.
pub fn verify(
    wanted: &[Wanted],
    observation: &Observation,
    failures: &BTreeMap<usize, String>,
) -> Vec<DeviceStatus> {
    let after = plan(wanted, observation);
    let steps = after.steps_by_device();
    after
        .devices
        .iter()
        .enumerate()
        .map(|(place, device)| {
            let missing = listing(steps.get(&place).into_iter().flatten());
            let problems = problems(place, device, &missing, failures);
            let interface = device.interface;
            let interface = interface.and_then(|index| observation.interface(index));
            let mut report = report(device, interface, observation, &problems);
            let mut status = match wanted.get(place).zip(interface) {
                None => report.into(),
                Some((wanted, interface)) => {
                    // The kernel's own comes a moment after the interface is up, and would be news of
                    // its own.
                    report.addresses.retain(|address| {
                        !address.is_ipv6_link_local() || wanted.addresses.contains(address)
                    });
                    if report.ready && wanted.hands_off {
                        "left as it is: the policy says manage = false"
                            .clone_into(&mut report.message);
                    } else if report.ready
                        && let Some(words) = in_its_place(wanted, interface, observation)
                    {
                        report.message = words;
                    }
                    DeviceStatus::of(report, wanted, interface, observation)
                }
            };
            status.pinning.clone_from(&device.pinning);
            status
        })
        .collect()
}

/// Whether no wanted address waits for the end of duplicate address detection. Until then its device
/// counts as ready: without a carrier the detection does not even begin.
pub fn is_settled(wanted: &[Wanted], observation: &Observation) -> bool {
    !has_tentative(wanted, observation, |_| true)
}

/// Whether duplicate address detection of a wanted address is under way, and will end in seconds.
pub fn is_detecting(wanted: &[Wanted], observation: &Observation) -> bool {
    has_tentative(wanted, observation, |interface| {
        interface.up && interface.carrier
    })
}

fn has_tentative(
    wanted: &[Wanted],
    observation: &Observation,
    counts: impl Fn(&Interface) -> bool,
) -> bool {
    let wanted: BTreeSet<&InterfaceAddress> = wanted.iter().flat_map(|it| &it.addresses).collect();
    let interfaces = observation.interfaces.iter();
    let mut tentative = interfaces
        .filter(|interface| counts(interface))
        .flat_map(|interface| &interface.tentative_addresses);
    tentative.any(|address| wanted.contains(address))
}

/// The report of a device whose entry in the document is broken.
pub fn rejected(rejected: &Rejected) -> DeviceReport {
    DeviceReport {
        identity: rejected.identity.clone(),
        ready: false,
        reason: Reason::InvalidAttributes,
        message: rejected.error.to_string(),
        interface_name: None,
        mac_address: None,
        addresses: Vec::new(),
        guest_pci_address: None,
        numa_node: None,
    }
}

fn problems(
    place: usize,
    device: &PlannedDevice,
    missing: &str,
    failures: &BTreeMap<usize, String>,
) -> Vec<Problem> {
    let mut problems = device.problems.clone();
    if !missing.is_empty() {
        let message = match failures.get(&place) {
            Some(failure) => failure.clone(),
            None => format!("still to do: {missing}"),
        };
        problems.push(Problem {
            reason: Reason::ConfigurationFailed,
            message,
        });
    }
    problems
}

fn report(
    device: &PlannedDevice,
    interface: Option<&Interface>,
    observation: &Observation,
    problems: &[Problem],
) -> DeviceReport {
    let function = device
        .pci_address
        .and_then(|address| observation.pci_functions.get(&address));
    let messages = problems.iter().map(|problem| &problem.message);
    let messages: Vec<&str> = messages.chain(&device.left).map(String::as_str).collect();
    DeviceReport {
        identity: device.identity.clone(),
        ready: problems.is_empty(),
        reason: problems
            .first()
            .map_or(Reason::Configured, |problem| problem.reason),
        message: messages.join("; "),
        interface_name: interface.map(|interface| interface.name.clone()),
        mac_address: interface.and_then(|interface| interface.mac_address),
        addresses: interface.map_or_else(Vec::new, |interface| interface.addresses.clone()),
        guest_pci_address: device.pci_address,
        numa_node: interface
            .and_then(|interface| interface.numa_node)
            .or_else(|| function.and_then(|function| function.numa_node)),
    }
}
