//! The addresses of an interface.

use std::collections::BTreeSet;
use std::net::IpAddr;

use device_attributes::InterfaceAddress;

use super::draft::Draft;
use super::{Action, controller, leftovers};
use crate::observe::{IPV6_LEAST_MTU, Ipv6};

/// Why the interface can have no IPv6 address, with the MTU that it is to have.
pub(super) fn without_ipv6(draft: &Draft<'_>, mtu: u32) -> Option<String> {
    let name = draft.name;
    match draft.interface.ipv6 {
        Ipv6::NotInKernel => {
            Some("this kernel has no IPv6, or was started without it (ipv6.disable=1)".to_owned())
        }
        Ipv6::Disabled => Some(format!(
            "IPv6 is disabled on {name} (net.ipv6.conf.{name}.disable_ipv6 is set)"
        )),
        Ipv6::Enabled | Ipv6::BelowMinimumMtu => (mtu < IPV6_LEAST_MTU).then(|| {
            format!("{name} has no IPv6 with an MTU of {mtu}, which is below {IPV6_LEAST_MTU}")
        }),
    }
}

/// Plans the removal of those that are wanted no more.
pub(super) fn remove_addresses(draft: &mut Draft<'_>) {
    remove(draft, IpAddr::is_ipv6);
    remove(draft, IpAddr::is_ipv4);
}

fn remove(draft: &mut Draft<'_>, family: impl Fn(&IpAddr) -> bool) {
    for address in draft.leaving.clone() {
        if !family(&address.ip()) {
            continue;
        }
        let holder = controller::holder(address.ip(), draft.interface, draft.observation);
        let reason = match holder.filter(|_| draft.wanted.addresses.contains(&address)) {
            Some(holder) => format!(
                "the agent added it, and {} has it now in its place",
                holder.name
            ),
            None => leftovers::ADDED.to_owned(),
        };
        draft.step(Action::RemoveAddress { address }, "", reason);
    }
}

/// Plans the addresses. What goes of IPv6 makes room: an address is there once, with whichever prefix length. What goes
/// of IPv4 goes last: with the last address of an interface the kernel removes every route through it.
pub(super) fn addresses(draft: &mut Draft<'_>, without_ipv6: Option<&str>) {
    remove(draft, IpAddr::is_ipv6);
    add(draft, without_ipv6);
    remove(draft, IpAddr::is_ipv4);
}

fn add(draft: &mut Draft<'_>, without_ipv6: Option<&str>) {
    let mut ipv6: BTreeSet<IpAddr> = BTreeSet::new();
    let mut seen = BTreeSet::new();
    if draft.controller.is_some() {
        return;
    }
    let wanted: Vec<&InterfaceAddress> = draft.addresses().collect();
    for address in wanted {
        if !seen.insert(address) {
            continue;
        }
        // The kernel tells IPv6 addresses apart without their prefix length.
        let is_second = address.ip().is_ipv6() && !ipv6.insert(address.ip());
        if let Some(message) = obstacle(*address, is_second, draft, without_ipv6) {
            draft.problem(message);
        } else if !draft.interface.addresses.contains(address) {
            let action = Action::AddAddress { address: *address };
            let reason = match with_other_prefix(*address, draft) {
                Some(other) => format!("it has {other}, which stays, but not this address"),
                None => "it does not have this address".to_owned(),
            };
            draft.step(action, "addresses", reason);
        }
    }
}

fn obstacle(
    address: InterfaceAddress,
    is_second: bool,
    draft: &Draft<'_>,
    without_ipv6: Option<&str>,
) -> Option<String> {
    let name = draft.name;
    if draft.interface.duplicate_addresses.contains(&address) {
        return Some(format!(
            "another host of the link has the address {address} too: duplicate address detection \
             keeps {name} from using it"
        ));
    }
    if address.ip().is_ipv4() || draft.interface.addresses.contains(&address) {
        return None;
    }
    if let Some(why) = without_ipv6 {
        return Some(format!("{name} cannot have the address {address}: {why}"));
    }
    if is_second {
        return Some(format!(
            "{name} cannot have the address {address}: it is wanted with another prefix length too"
        ));
    }
    with_other_prefix(address, draft).map(|other| {
        format!(
            "{name} cannot have the address {address}: it has {other}, which stays, and the kernel \
             takes an IPv6 address only once"
        )
    })
}

fn with_other_prefix(address: InterfaceAddress, draft: &Draft<'_>) -> Option<InterfaceAddress> {
    draft
        .staying()
        .find(|other| other.ip() == address.ip() && **other != address)
        .copied()
}
