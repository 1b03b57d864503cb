//! What one interface needs beside its name, its routes and its rules, in the order that the kernel
//! needs: what may cost addresses comes before addresses.

use super::addresses::{addresses, without_ipv6};
use super::draft::Draft;
use super::mtu::mtu;
use super::names::{Names, alternative_names};
use super::sysctls::sysctls;
use super::{Action, set_down};

/// Plans one interface.
pub(super) fn configuration(draft: &mut Draft<'_>, names: &Names<'_>) {
    alternative_names(draft, names);
    mac_address(draft);
    let mtu = mtu(draft);
    draft.without_ipv6 = without_ipv6(draft, mtu);
    let without_ipv6 = draft.without_ipv6.clone();
    // Before it is up: no router's announcement is then taken that was not to be.
    sysctls(draft, without_ipv6.as_deref());
    if !draft.interface.up {
        let observation = draft.observation;
        let others = set_down::others_on(draft.interface, &observation.journal, observation);
        draft.step(Action::SetUp(others), "", "it is down");
    }
    addresses(draft, without_ipv6.as_deref());
}

/// Only where the policy says so does a device have another one: else it would not have been found.
fn mac_address(draft: &mut Draft<'_>) {
    let (Some(from), Some(to)) = (draft.interface.mac_address, draft.given_mac) else {
        return;
    };
    if from != to {
        let action = Action::SetMacAddress { from, to };
        let reason = "it was found by its PCI address, and its MAC address is another";
        draft.step(action, "set-mac", reason);
    }
}
