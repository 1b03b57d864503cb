//! The wait for a route's source address: the kernel refuses an IPv6 one that duplicate address
//! detection has not come to an end with ("Invalid source address").

use std::net::IpAddr;
use std::time::Duration;

use tokio::time::Instant;

use crate::netlink::{Netlink, NetlinkError};
use crate::pause::pause;
use crate::routing::Route;

/// The detection takes a second, and begins within another (RFC 4862, section 5.4). Without a
/// carrier it never begins.
const PATIENCE: Duration = Duration::from_secs(3);

/// The time between two looks.
const PAUSE: Duration = Duration::from_millis(100);

/// Returns as soon as the route's source address can be used, or will not be for long.
pub(super) async fn usable(netlink: &Netlink, route: &Route) -> Result<(), NetlinkError> {
    let Some(source) = route.source.filter(IpAddr::is_ipv6) else {
        return Ok(());
    };
    let end = Instant::now() + PATIENCE;
    loop {
        let addresses = netlink.addresses().await?;
        let is_tentative = addresses
            .iter()
            .any(|address| address.ip == Some(source) && address.is_tentative());
        if !is_tentative || Instant::now() >= end {
            return Ok(());
        }
        pause(PAUSE).await;
    }
}
