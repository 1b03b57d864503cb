//! How a step, or its undoing, is done to the kernel.

use device_attributes::MacAddress;
use nix::errno::Errno;

use super::down::{self, Kept};
use super::pin::{self, Pinned};
use super::{
    Outcome, Refused, StepError, Target, Undo, address, ipv6_settings, source_address, sysctl,
};
use crate::netlink::{Netlink, NetlinkError, Routes};
use crate::observe::{IPV6_LEAST_MTU, Ipv6Settings};
use crate::plan::{Action, Pin, Step};
use crate::roots::Roots;
use crate::routing::{Route, RoutingRule};

pub(super) type Made = Result<Outcome, StepError<NetlinkError>>;

/// The kernel behind a netlink connection, a `/proc` and a `/sys`.
pub(super) struct Kernel<'a> {
    netlink: &'a Netlink,
    roots: &'a Roots,
    pub(super) refused: Refused,
}

impl Target for Kernel<'_> {
    type Error = NetlinkError;

    async fn make(&mut self, step: &Step) -> Made {
        let interface = step.interface;
        let netlink = self.netlink;
        match &step.action {
            Action::Rename { to } => self.set_link(interface, LinkChange::Name(to)).await,
            Action::AddAlternativeName { alternative } => {
                self.add_alternative_name(interface, alternative).await
            }
            Action::RemoveAlternativeName { alternative } => changed(
                netlink
                    .remove_alternative_name(interface, alternative)
                    .await,
            ),
            Action::SetMacAddress { to, .. } => {
                self.set_link(interface, LinkChange::Mac(*to)).await
            }
            Action::SetMtu { to, ipv6, .. } => {
                self.set_mtu(interface, &step.name, *to, ipv6.as_ref())
                    .await
            }
            Action::SetSysctl { sysctl, to, .. } => {
                changed(sysctl::set(&self.roots.proc, &step.name, *sysctl, *to))
            }
            Action::SetUp(_) => changed(netlink.set_up(interface).await),
            Action::AddAddress { address } => address::add(netlink, interface, *address)
                .await
                .map_err(unchanged),
            Action::RemoveAddress { address } => {
                address::remove(netlink, interface, *address).await
            }
            Action::AddRoute { route } => self.add_route(route).await.map_err(unchanged),
            Action::RemoveRoute { route } => removed(netlink.remove_route(route).await),
            Action::AddRule { rule } => self.add_rule(rule).await.map_err(unchanged),
            Action::RemoveRule { rule } => removed(netlink.remove_rule(rule).await),
            Action::Pin(pin) => self.pin(interface, &step.name, pin).map_err(unchanged),
        }
        .map_err(|StepError { error, changed }| StepError {
            error: error.attempting(step),
            changed,
        })
    }

    async fn undo(&mut self, undo: &Undo) -> Result<(), NetlinkError> {
        let netlink = self.netlink;
        let made = |made: Made| made.map(|_| ()).map_err(|failed| failed.error);
        match undo {
            Undo::Rename { interface, to, .. } => {
                made(self.set_link(*interface, LinkChange::Name(to)).await)
            }
            Undo::RemoveAlternativeName {
                interface,
                alternative,
                ..
            } => {
                netlink
                    .remove_alternative_name(*interface, alternative)
                    .await
            }
            Undo::AddAlternativeName {
                interface,
                alternative,
                ..
            } => netlink.add_alternative_name(*interface, alternative).await,
            Undo::SetMacAddress { interface, to, .. } => {
                made(self.set_link(*interface, LinkChange::Mac(*to)).await)
            }
            Undo::SetSysctl {
                name, sysctl, to, ..
            } => sysctl::set(&self.roots.proc, name, *sysctl, *to),
            Undo::SetMtu {
                interface,
                name,
                to,
                ipv6,
            } => made(self.set_mtu(*interface, name, *to, ipv6.as_ref()).await),
            Undo::SetDown { interface, .. } => down::set_down(netlink, *interface).await,
            Undo::RemoveAddress {
                interface, address, ..
            } => made(address::remove(netlink, *interface, *address).await),
            Undo::AddAddress {
                interface, address, ..
            } => netlink.add_address(*interface, *address).await,
            Undo::RemoveRoute { route, .. } => made(removed(netlink.remove_route(route).await)),
            Undo::AddRoute { route, .. } => netlink.add_route(route).await,
            Undo::RemoveRule { rule, .. } => made(removed(netlink.remove_rule(rule).await)),
            Undo::AddRule { rule, .. } => netlink.add_rule(rule).await,
            Undo::Pin {
                interface,
                name,
                pin,
            } => match self.pin(*interface, name, pin) {
                // The interrupt went with its queue.
                Err(error) if error.errno() == Some(Errno::ENOENT) => Ok(()),
                other => other.map(|_| ()),
            },
        }
        .map_err(|error| error.attempting(undo))
    }
}

impl<'a> Kernel<'a> {
    pub(super) fn new(netlink: &'a Netlink, roots: &'a Roots) -> Self {
        Self {
            netlink,
            roots,
            refused: Refused::default(),
        }
    }

    fn pin(&mut self, interface: u32, name: &str, pin: &Pin) -> Result<Outcome, NetlinkError> {
        Ok(match pin::set(self.roots, interface, name, pin)? {
            Pinned::So(outcome) => outcome,
            Pinned::Unmovable(interrupt) => {
                self.refused.interrupts.insert(interrupt);
                Outcome::AlreadySo
            }
        })
    }
}

/// A change that some kernels and drivers refuse with `EBUSY` while the interface is up.
#[derive(Debug, Clone, Copy)]
enum LinkChange<'a> {
    /// Kernels before 6.2 refuse.
    Name(&'a str),
    /// Drivers without `IFF_LIVE_ADDR_CHANGE` refuse.
    Mac(MacAddress),
}

impl Kernel<'_> {
    async fn request(&self, interface: u32, change: LinkChange<'_>) -> Result<(), NetlinkError> {
        match change {
            LinkChange::Name(name) => self.netlink.rename(interface, name).await,
            LinkChange::Mac(mac) => self.netlink.set_mac_address(interface, mac).await,
        }
    }

    async fn set_link(&self, interface: u32, change: LinkChange<'_>) -> Made {
        match self.request(interface, change).await {
            Err(error) if error.errno() == Some(Errno::EBUSY) => {
                self.set_link_while_down(interface, change).await
            }
            result => changed(result),
        }
    }

    /// What is lost by that is put back.
    async fn set_link_while_down(&self, interface: u32, change: LinkChange<'_>) -> Made {
        let netlink = self.netlink;
        let kept = Kept::of(netlink, interface).await.map_err(unchanged)?;
        netlink.set_down(interface).await.map_err(unchanged)?;
        let made = self.request(interface, change).await;
        let is_made = made.is_ok();
        let up = netlink.set_up(interface).await;
        let back = kept.put_back(netlink).await;
        let result = made.and(up).and(back);
        result
            .map(|()| Outcome::Changed)
            .map_err(|error| StepError {
                error,
                changed: is_made,
            })
    }

    /// IPv6 that comes back with it is set as it was.
    async fn set_mtu(
        &self,
        interface: u32,
        name: &str,
        to: u32,
        ipv6: Option<&Ipv6Settings>,
    ) -> Made {
        let made = changed(self.netlink.set_mtu(interface, to).await)?;
        let back = ipv6.filter(|_| to >= IPV6_LEAST_MTU);
        match back.map(|ipv6| ipv6_settings::put_back(&self.roots.proc, name, ipv6, to)) {
            Some(Err(error)) => Err(StepError {
                error,
                changed: true,
            }),
            _ => Ok(made),
        }
    }

    /// A kernel before Linux 5.5 does not know the request: the rest of the device stands all the same.
    async fn add_alternative_name(&mut self, interface: u32, name: &str) -> Made {
        match self.netlink.add_alternative_name(interface, name).await {
            Err(error) if error.errno() == Some(Errno::EOPNOTSUPP) => {
                self.refused.alternative_names = true;
                Ok(Outcome::AlreadySo)
            }
            result => changed(result),
        }
    }

    /// A route that something else added since the look at the kernel is as good, and not ours to take
    /// away.
    async fn add_route(&self, route: &Route) -> Result<Outcome, NetlinkError> {
        source_address::usable(self.netlink, route).await?;
        match self.netlink.add_route(route).await {
            Ok(()) => Ok(Outcome::Changed),
            Err(error) if error.errno() == Some(Errno::EEXIST) => {
                let routes = self.netlink.routes(Routes::All).await?;
                if routes.iter().any(|other| route.is_met_by(other)) {
                    Ok(Outcome::AlreadySo)
                } else {
                    Err(error)
                }
            }
            Err(error) => Err(error),
        }
    }

    async fn add_rule(&self, rule: &RoutingRule) -> Result<Outcome, NetlinkError> {
        match self.netlink.add_rule(rule).await {
            // It compares all that there is to a rule.
            Err(error) if error.errno() == Some(Errno::EEXIST) => Ok(Outcome::AlreadySo),
            other => other.map(|()| Outcome::Changed),
        }
    }
}

/// What is to be removed and is gone is as good: an interface that was down has lost its routes.
fn removed(result: Result<(), NetlinkError>) -> Made {
    match result {
        Err(error) if matches!(error.errno(), Some(Errno::ESRCH | Errno::ENOENT)) => {
            Ok(Outcome::AlreadySo)
        }
        other => changed(other),
    }
}

fn changed(result: Result<(), NetlinkError>) -> Result<Outcome, StepError<NetlinkError>> {
    result.map(|()| Outcome::Changed).map_err(unchanged)
}

pub(super) fn unchanged(error: NetlinkError) -> StepError<NetlinkError> {
    StepError {
        error,
        changed: false,
    }
}

#[cfg(test)]
#[path = "../../tests/namespace/mod.rs"]
mod namespace;

#[cfg(test)]
mod tests;
