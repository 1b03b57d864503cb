//! One device with a policy, and what the kernel shows of it.

use serde_json::json;

use crate::guest::{Guest, device};
use crate::namespace::{ip, veth};

/// A guest with the device `net1`, which has the addresses, and with this policy for it.
pub(crate) fn guest(addresses: &[&str], policy: &str) -> Guest {
    let guest = Guest::new();
    guest.document(&json!([device(1, "net1", addresses)]));
    guest.policy(&format!("[[device]]\n{policy}\n"));
    guest
}

/// Applies, and expects the device to be ready.
pub(crate) fn apply(guest: &Guest) {
    let said = guest.agent("apply");
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    let said = guest.agent("plan");
    assert_eq!(said.stdout, "nothing to change\n");
}

#[track_caller]
pub(crate) fn shows(what: &str, parts: &[&str]) {
    let shown = ip(what);
    for part in parts {
        assert!(shown.contains(part), "{part:?} is not in\n{shown}");
    }
}

#[track_caller]
pub(crate) fn lacks(what: &str, part: &str) {
    let shown = ip(what);
    assert!(!shown.contains(part), "{part:?} is in\n{shown}");
}

/// Both ends of a pair up: duplicate address detection needs a carrier.
pub(crate) fn linked(name: &str) {
    veth(name, 1);
    ip(&format!("link set {name}-peer up"));
}
