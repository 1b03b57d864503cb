//! How a step, or its undoing, is done to the kernel.

use device_attributes::InterfaceAddress;
use nix::errno::Errno;

use super::{Outcome, StepError, Target, Undo};
use crate::netlink::{Netlink, NetlinkError};
use crate::plan::{Action, Step};

/// The kernel behind a netlink connection.
pub(super) struct Kernel<'a>(pub(super) &'a Netlink);

impl Target for Kernel<'_> {
    type Error = NetlinkError;

    async fn make(&mut self, step: &Step) -> Result<Outcome, StepError<NetlinkError>> {
        let interface = step.interface;
        match &step.action {
            Action::Rename { to } => self.rename(interface, to).await,
            Action::SetMtu { to, .. } => changed(self.0.set_mtu(interface, *to).await),
            Action::SetUp => changed(self.0.set_up(interface).await),
            Action::AddAddress { address } => self
                .add_address(interface, *address)
                .await
                .map_err(unchanged),
        }
        .map_err(|StepError { error, changed }| StepError {
            error: error.attempting(step),
            changed,
        })
    }

    async fn undo(&mut self, undo: &Undo) -> Result<(), NetlinkError> {
        match undo {
            Undo::Rename { interface, to, .. } => {
                let renamed = self.rename(*interface, to).await;
                renamed.map(|_| ()).map_err(|failed| failed.error)
            }
            Undo::SetMtu { interface, to, .. } => self.0.set_mtu(*interface, *to).await,
            Undo::SetDown { interface, .. } => self.0.set_down(*interface).await,
            Undo::RemoveAddress {
                interface, address, ..
            } => self.0.remove_address(*interface, *address).await,
        }
        .map_err(|error| error.attempting(undo))
    }
}

impl Kernel<'_> {
    async fn rename(&self, interface: u32, to: &str) -> Result<Outcome, StepError<NetlinkError>> {
        match self.0.rename(interface, to).await {
            Err(error) if error.errno() == Some(Errno::EBUSY) => {
                self.rename_while_down(interface, to).await
            }
            result => changed(result),
        }
    }

    /// The way for kernels before 6.2, which refuse to rename an interface that is up.
    ///
    /// Down throws away the interface's global IPv6 addresses and its routes. The addresses are put
    /// back, and with them the routes that the kernel makes from addresses.
    async fn rename_while_down(
        &self,
        interface: u32,
        to: &str,
    ) -> Result<Outcome, StepError<NetlinkError>> {
        let mut addresses = self.0.addresses().await.map_err(unchanged)?;
        addresses.retain(|address| address.interface == interface && address.is_lost_when_down());
        self.0.set_down(interface).await.map_err(unchanged)?;
        let renamed = self.0.rename(interface, to).await;
        let is_renamed = renamed.is_ok();
        let up = self.0.set_up(interface).await;
        let mut result = renamed.and(up);
        for address in &addresses {
            match self.0.restore_address(address).await {
                Err(error) if error.errno() != Some(Errno::EEXIST) => {
                    result = result.and(Err(error));
                }
                _ => {}
            }
        }
        result
            .map(|()| Outcome::Changed)
            .map_err(|error| StepError {
                error,
                changed: is_renamed,
            })
    }

    /// An address that something else added since the look at the kernel is as good, and not ours
    /// to take away.
    async fn add_address(
        &self,
        interface: u32,
        address: InterfaceAddress,
    ) -> Result<Outcome, NetlinkError> {
        match self.0.add_address(interface, address).await {
            Ok(()) => Ok(Outcome::Changed),
            // The kernel compares IPv6 addresses without their prefix length.
            Err(error) if error.errno() == Some(Errno::EEXIST) => {
                let addresses = self.0.addresses().await?;
                let equal = addresses.iter().any(|other| {
                    other.interface == interface
                        && other.ip == Some(address.ip())
                        && other.prefix == address.prefix()
                });
                if equal {
                    Ok(Outcome::AlreadySo)
                } else {
                    Err(error)
                }
            }
            Err(error) => Err(error),
        }
    }
}

fn changed(result: Result<(), NetlinkError>) -> Result<Outcome, StepError<NetlinkError>> {
    result.map(|()| Outcome::Changed).map_err(unchanged)
}

fn unchanged(error: NetlinkError) -> StepError<NetlinkError> {
    StepError {
        error,
        changed: false,
    }
}

#[cfg(test)]
#[path = "../../tests/namespace/mod.rs"]
mod namespace;

#[cfg(test)]
mod tests {
    use super::namespace::{block_on, in_namespace, ip, veth};
    use super::*;

    /// The kernel that runs the tests may rename interfaces that are up: the way for the others
    /// is taken here by hand.
    #[test]
    fn renaming_while_down_puts_ipv6_addresses_back() {
        in_namespace(|| {
            veth("eth0", 1);
            ip("link set eth0-peer up");
            ip("link set eth0 up");
            ip("address add 192.0.2.5/24 dev eth0");
            ip("address add 2001:db8::5/64 dev eth0 nodad noprefixroute");
            ip("address add 2001:db8::6/64 dev eth0 valid_lft 1000 preferred_lft 900");
            let outcome = block_on(async {
                let netlink = Netlink::open().unwrap();
                let links = netlink.links().await.unwrap();
                let eth0 = links.iter().find(|link| link.name == "eth0").unwrap();
                let kernel = Kernel(&netlink);
                kernel.rename_while_down(eth0.index, "net1").await.ok()
            });
            assert_eq!(outcome, Some(Outcome::Changed));
            let shown = ip("address show dev net1");
            for part in [
                ",UP,",
                "192.0.2.5/24",
                "2001:db8::5/64 scope global nodad noprefixroute",
                "2001:db8::6/64 scope global",
                "valid_lft 1000sec preferred_lft 900sec",
            ] {
                assert!(shown.contains(part), "{part:?} is not in {shown}");
            }
        });
    }

    #[test]
    fn a_refused_rename_while_down_ends_up_again() {
        in_namespace(|| {
            veth("eth0", 1);
            ip("link set eth0 up");
            ip("address add 2001:db8::5/64 dev eth0");
            let failure = block_on(async {
                let netlink = Netlink::open().unwrap();
                let links = netlink.links().await.unwrap();
                let eth0 = links.iter().find(|link| link.name == "eth0").unwrap();
                let kernel = Kernel(&netlink);
                kernel
                    .rename_while_down(eth0.index, "eth0-peer")
                    .await
                    .err()
            });
            let failure = failure.unwrap();
            assert!(!failure.changed);
            assert_eq!(failure.error.errno(), Some(Errno::EEXIST));
            let shown = ip("address show dev eth0");
            assert!(
                shown.contains(",UP") && shown.contains("2001:db8::5/64"),
                "{shown}"
            );
        });
    }
}
