//! The agent's look at the kernel and its changes, against the kernel itself.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod apply;
#[path = "../namespace/mod.rs"]
mod namespace;
mod netlink;
mod observe;
mod undone;
mod watch;

use dra_guest_agent::netlink::Netlink;
use dra_guest_agent::observe::{Asked, Interface, Observation, observe as look};
use dra_guest_agent::roots::Roots;

/// One look at the namespace.
fn observation() -> Observation {
    namespace::block_on(async {
        let netlink = Netlink::open().unwrap();
        look(&netlink, &Roots::default(), &Asked::all())
            .await
            .unwrap()
    })
}

fn interface(name: &str) -> Interface {
    let observation = observation();
    let found = observation.interfaces.iter().find(|i| i.name == name);
    match found {
        Some(interface) => interface.clone(),
        None => panic!("no interface {name} in {observation:#?}"),
    }
}

fn addresses(interface: &Interface) -> Vec<String> {
    interface
        .addresses
        .iter()
        .map(ToString::to_string)
        .collect()
}
