//! Addresses that several devices want. The kernel gives one address to any number of interfaces, and
//! the guest then answers for it by whichever it likes.

use std::collections::BTreeMap;
use std::net::IpAddr;

use device_attributes::report::Reason;

use super::{Draft, Wanted, others};

/// Refuses what more than one device wants to each of them. One that has it already keeps it.
pub(super) fn refuse_shared(drafts: &mut [Draft<'_>], wanted: &[Wanted]) {
    let mut devices: BTreeMap<IpAddr, Vec<usize>> = BTreeMap::new();
    for draft in &*drafts {
        for address in draft.wanted.addresses.iter().map(|address| address.ip()) {
            let devices = devices.entry(address).or_default();
            if !is_of_a_link(address) && devices.last() != Some(&draft.device) {
                devices.push(draft.device);
            }
        }
    }
    for draft in drafts {
        let addresses = draft.wanted.addresses.iter().map(|address| address.ip());
        for address in addresses {
            let devices = devices.get(&address).map_or(&[][..], Vec::as_slice);
            let Some(others) = others(devices, draft.device, wanted) else {
                continue;
            };
            if draft.shared_addresses.insert(address) {
                let message = format!(
                    "the address {address} is also wanted for {others}: it is given to none of them"
                );
                draft.problem_of(Reason::InvalidAttributes, message);
            }
        }
        if !draft.shared_addresses.is_empty() {
            draft.let_addresses_go();
        }
    }
}

/// Every link has addresses of that kind of its own.
fn is_of_a_link(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(ip) if ip.is_unicast_link_local())
}
