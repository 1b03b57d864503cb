//! Which device of the guest is it?
//!
//! By MAC address: the permanent one first, then the current one. By the guest's PCI address,
//! where one is known. Where both are given they must agree. An address of the host is never
//! looked up.

use device_attributes::report::Reason;
use device_attributes::{MacAddress, PciAddress};

use super::candidates::Candidates;
use super::controller::controller;
use super::given_macs::GivenMacs;
use super::{Problem, Wanted};
use crate::listing::listing;
use crate::observe::{Interface, Observation};

/// What a wanted device turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found<'a> {
    /// A network interface.
    Interface(&'a Interface),
    /// A PCI function that has no network interface and need not have one.
    Function(PciAddress),
}

/// Finds one device.
///
/// # Errors
/// When the guest has no such device, more than one, or two that contradict each other. The
/// problem is this device's alone.
pub(super) fn identify<'a>(
    wanted: &Wanted,
    given: &GivenMacs,
    candidates: &Candidates<'a>,
    observation: &Observation,
) -> Result<Found<'a>, Problem> {
    match (wanted.mac_address, wanted.guest_pci_address) {
        (None, None) => Err(Problem {
            reason: Reason::InvalidAttributes,
            message:
                "neither a MAC address nor a guest PCI address is known of it, and the host's \
                      PCI address means nothing in the guest"
                    .to_owned(),
        }),
        (Some(mac), None) => by_mac_alone(mac, candidates),
        (None, Some(address)) => by_function_alone(wanted, address, candidates, observation),
        (Some(mac), Some(address)) => {
            let found = by_both(given, mac, address, candidates);
            found.map_err(|problem| as_port(problem, wanted, address, candidates, observation))
        }
    }
}

fn by_mac_alone<'a>(mac: MacAddress, candidates: &Candidates<'a>) -> Result<Found<'a>, Problem> {
    match candidates.with_mac(mac).as_slice() {
        [interface] => Ok(Found::Interface(interface)),
        [] => Err(Problem {
            reason: Reason::DeviceNotFound,
            message: format!("no network interface has the MAC address {mac}"),
        }),
        several => Err(Problem {
            reason: Reason::Ambiguous,
            message: format!(
                "{} all have the MAC address {mac}: a guest PCI address would tell them apart",
                names(several)
            ),
        }),
    }
}

fn by_function_alone<'a>(
    wanted: &Wanted,
    address: PciAddress,
    candidates: &Candidates<'a>,
    observation: &Observation,
) -> Result<Found<'a>, Problem> {
    match candidates.on_function(address) {
        [interface] => Ok(Found::Interface(interface)),
        [] => without_interface(wanted, address, observation),
        several => Err(Problem {
            reason: Reason::Ambiguous,
            message: format!(
                "{} all sit on the PCI function {address}: a MAC address would tell them apart",
                names(several)
            ),
        }),
    }
}

fn without_interface<'a>(
    wanted: &Wanted,
    address: PciAddress,
    observation: &Observation,
) -> Result<Found<'a>, Problem> {
    let not_found = |message| Problem {
        reason: Reason::DeviceNotFound,
        message,
    };
    let Some(function) = observation.pci_functions.get(&address) else {
        return Err(not_found(format!(
            "the guest has no PCI function {address}"
        )));
    };
    match &function.driver {
        None => Err(not_found(format!(
            "the PCI function {address} is there, but no driver is bound to it"
        ))),
        Some(_) if !wanted.is_network() => Ok(Found::Function(address)),
        Some(driver) => Err(not_found(format!(
            "the PCI function {address} is bound to {driver} and has no network interface"
        ))),
    }
}

fn by_both<'a>(
    given: &GivenMacs,
    mac: MacAddress,
    address: PciAddress,
    candidates: &Candidates<'a>,
) -> Result<Found<'a>, Problem> {
    let macs = candidates.with_mac(mac);
    let on_function = candidates.on_function(address);
    let both: Vec<&Interface> = macs
        .iter()
        .copied()
        .filter(|interface| {
            on_function
                .iter()
                .any(|other| other.index == interface.index)
        })
        .collect();
    match (both.as_slice(), macs.as_slice(), on_function) {
        // The second: the host side may not know the guest's buses rightly (a PCI expander bridge
        // shifts them), while the MAC means the same on both sides.
        ([interface], _, _) | ([], [interface], []) => Ok(Found::Interface(interface)),
        ([], [], []) => Err(Problem {
            reason: Reason::DeviceNotFound,
            message: format!(
                "no network interface has the MAC address {mac}, and none is on the PCI function \
                 {address}"
            ),
        }),
        ([], macs, []) => Err(Problem {
            reason: Reason::Ambiguous,
            message: format!(
                "{} all have the MAC address {mac}, and none of them is on the PCI function \
                 {address}",
                names(macs)
            ),
        }),
        // A virtual function may come with a random MAC: the policy says if it is given its own.
        ([], _, [interface]) if given.has(interface, mac) => Ok(Found::Interface(interface)),
        ([], [], others) => Err(Problem {
            reason: Reason::IdentityConflict,
            message: format!(
                "the PCI function {address} is {}, which does not have the MAC address {mac}; \
                 nothing else has it: `set-mac = true` in the policy would give it to it",
                names(others)
            ),
        }),
        ([], macs, others) => Err(Problem {
            reason: Reason::IdentityConflict,
            message: format!(
                "the MAC address {mac} is that of {}, but the PCI function {address} is {}",
                names(macs),
                names(others)
            ),
        }),
        (both, _, _) => Err(Problem {
            reason: Reason::Ambiguous,
            message: format!(
                "{} all have the MAC address {mac} on the PCI function {address}",
                names(both)
            ),
        }),
    }
}

/// The policy would give the interface the MAC, and its controller keeps it from that.
fn as_port(
    problem: Problem,
    wanted: &Wanted,
    address: PciAddress,
    candidates: &Candidates<'_>,
    observation: &Observation,
) -> Problem {
    let [interface] = candidates.on_function(address) else {
        return problem;
    };
    match controller(interface, observation).filter(|_| wanted.set_mac) {
        Some(controller) => Problem {
            message: format!(
                "the PCI function {address} is {}, which does not have the MAC address of the document: it is a port of \
                 {}, as which it is given none",
                interface.name, controller.name
            ),
            ..problem
        },
        None => problem,
    }
}

fn names(interfaces: &[&Interface]) -> String {
    listing(interfaces.iter().map(|interface| &interface.name))
}
