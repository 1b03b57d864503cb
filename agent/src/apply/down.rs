//! What is lost when an interface is set down: its global IPv6 addresses, its routes, and the same of the VLANs that
//! are made on it, which go down with it.

use crate::netlink::{Address, Kept as Routes, Link, Netlink, NetlinkError};

/// What is to be put back once the interface is up again.
#[derive(Debug)]
pub(super) struct Kept {
    addresses: Vec<Address>,
    routes: Routes,
    /// VLANs that were down, and that come up with the interface.
    down: Vec<u32>,
}

impl Kept {
    /// While the interface is up.
    pub(super) async fn of(netlink: &Netlink, interface: u32) -> Result<Self, NetlinkError> {
        let links = netlink.links().await?;
        let vlans = vlans_on(interface, &links);
        let mut those: Vec<u32> = vlans.iter().map(|vlan| vlan.index).collect();
        those.push(interface);
        let mut addresses = netlink.addresses().await?;
        addresses
            .retain(|address| those.contains(&address.interface) && address.is_lost_when_down());
        let down = vlans.iter().filter(|vlan| !vlan.up);
        Ok(Self {
            addresses,
            routes: netlink.keep_routes(&those).await?,
            down: down.map(|vlan| vlan.index).collect(),
        })
    }

    /// Once it is up. With the addresses come the routes that the kernel makes from them.
    ///
    /// # Errors
    /// The first refusal, after all were tried. What is there again is none.
    pub(super) async fn put_back(self, netlink: &Netlink) -> Result<(), NetlinkError> {
        let mut result = Ok(());
        for vlan in self.down {
            result = result.and(netlink.set_down(vlan).await);
        }
        result = result.and(netlink.restore_addresses(&self.addresses).await);
        result.and(netlink.restore_routes(&self.routes).await)
    }
}

/// Sets an interface down, which is to keep what global IPv6 addresses it has.
pub(super) async fn set_down(netlink: &Netlink, interface: u32) -> Result<(), NetlinkError> {
    let mut addresses = netlink.addresses_of(interface).await?;
    addresses.retain(Address::is_lost_when_down);
    netlink.set_down(interface).await?;
    netlink.restore_addresses(&addresses).await
}

/// The VLANs that are made on an interface, and those on them: they follow it down and up
/// (`vlan_device_event` in `net/8021q/vlan.c`). What else is made on one does not.
fn vlans_on(interface: u32, links: &[Link]) -> Vec<&Link> {
    let mut vlans: Vec<&Link> = Vec::new();
    let mut below = vec![interface];
    while let Some(lower) = below.pop() {
        for link in links {
            let is_on = link.kind.as_deref() == Some("vlan") && link.lower == Some(lower);
            if is_on && vlans.iter().all(|known| known.index != link.index) {
                vlans.push(link);
                below.push(link.index);
            }
        }
    }
    vlans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vlans_go_down_with_what_they_are_made_on_and_nothing_else_does() {
        let link = |index, kind: Option<&str>, lower| Link {
            index,
            kind: kind.map(str::to_owned),
            lower,
            ..Link::default()
        };
        let links = [
            link(2, None, None),
            link(3, None, None),
            link(4, Some("vlan"), Some(2)),
            link(5, Some("vlan"), Some(4)),
            link(6, Some("macvlan"), Some(2)),
            link(7, Some("vlan"), Some(3)),
            // No kernel has such a circle.
            link(8, Some("vlan"), Some(9)),
            link(9, Some("vlan"), Some(8)),
        ];
        let indices = |interface| -> Vec<u32> {
            let vlans = vlans_on(interface, &links);
            vlans.iter().map(|vlan| vlan.index).collect()
        };
        assert_eq!(indices(2), [4, 5]);
        assert_eq!(indices(3), [7]);
        assert_eq!(indices(6), [0; 0]);
        assert_eq!(indices(8), [9, 8]);
    }
}
