//! How an interface gets an address, and loses it alone.

use device_attributes::InterfaceAddress;
use nix::errno::Errno;

use super::kernel::{Made, unchanged};
use super::{Outcome, StepError};
use crate::netlink::{Address, Netlink, NetlinkError};

/// An address that something else added since the look at the kernel is as good, and not ours
/// to take away.
pub(super) async fn add(
    netlink: &Netlink,
    interface: u32,
    address: InterfaceAddress,
) -> Result<Outcome, NetlinkError> {
    match netlink.add_address(interface, address).await {
        Ok(()) => Ok(Outcome::Changed),
        // The kernel compares IPv6 addresses without their prefix length.
        Err(error) if error.errno() == Some(Errno::EEXIST) => {
            let addresses = netlink.addresses_of(interface).await?;
            let equal = addresses
                .iter()
                .any(|other| other.ip == Some(address.ip()) && other.prefix == address.prefix());
            if equal {
                Ok(Outcome::AlreadySo)
            } else {
                Err(error)
            }
        }
        Err(error) => Err(error),
    }
}

/// Removes an address. With the first IPv4 address of a network the kernel removes the others of it
/// (`promote_secondaries` in Documentation/networking/ip-sysctl.rst), and with an interface's last one every IPv4
/// route of it (`fib_inetaddr_event` in `net/ipv4/fib_frontend.c`): they are put back, and the routes that went with
/// them.
pub(super) async fn remove(netlink: &Netlink, interface: u32, address: InterfaceAddress) -> Made {
    let on_interface = async || -> Result<Vec<Address>, NetlinkError> {
        let mut addresses = netlink.addresses_of(interface).await?;
        addresses.retain(|other| other.ip != Some(address.ip()));
        Ok(addresses)
    };
    if address.ip().is_ipv6() {
        return gone(netlink.remove_address(interface, address).await);
    }
    let before = on_interface().await.map_err(unchanged)?;
    let routes = netlink.keep_routes(&[interface]).await.map_err(unchanged)?;
    let made = gone(netlink.remove_address(interface, address).await)?;
    let changed = |error| StepError {
        error,
        changed: true,
    };
    let after = on_interface().await.map_err(changed)?;
    let lost = before
        .iter()
        .filter(|other| after.iter().all(|left| left.ip != other.ip));
    netlink.restore_addresses(lost).await.map_err(changed)?;
    // One that needs the address that is gone is gone with it.
    let _ = netlink.restore_routes(&routes).await;
    Ok(made)
}

/// One that is gone already is as good.
fn gone(result: Result<(), NetlinkError>) -> Made {
    match result {
        Ok(()) => Ok(Outcome::Changed),
        Err(error) if error.errno() == Some(Errno::EADDRNOTAVAIL) => Ok(Outcome::AlreadySo),
        Err(error) => Err(unchanged(error)),
    }
}
