//! Routes and policy rules: what the kernel tells them apart by, and where they lead.
//!
//! The observation, the plan and the undo log have them in one form. What a policy says of them is
//! in [`crate::policy`].

mod route;
mod rule;

pub use route::{Route, RouteKind};
pub use rule::RoutingRule;

use crate::policy::MAIN_TABLE;

/// Who made a route or a rule, as it stands in each (`rtm_protocol`, `FRA_PROTOCOL`): the agent's
/// number, which `include/uapi/linux/rtnetlink.h` and `/etc/iproute2/rt_protos` leave free. What
/// has another number is somebody else's and stays.
pub const PROTOCOL: u8 = 218;

/// The table of a device with source routing is this number and the index of its interface.
pub const SOURCE_TABLES: u32 = 10_739_000;

/// The priority of the rules of source routing: before the main table's 32766.
pub const SOURCE_PRIORITY: u32 = 10_739;

/// The metric that the kernel gives to an IPv6 route without one (`IP6_RT_PRIO_USER`,
/// `include/uapi/linux/ipv6_route.h`).
const IPV6_METRIC: u32 = 1024;

/// A protocol number and who it is given to (`RTPROT_*` of `include/uapi/linux/rtnetlink.h`), as in `16, dhcp`; the number
/// alone where that is not known.
pub(crate) fn protocol_words(protocol: u8) -> String {
    let name = match protocol {
        1 => "redirect",
        2 => "kernel",
        3 => "boot",
        4 => "static",
        8 => "gated",
        9 => "ra",
        10 => "mrt",
        11 => "zebra",
        12 => "bird",
        13 => "dnrouted",
        14 => "xorp",
        15 => "ntk",
        16 => "dhcp",
        17 => "mrouted",
        18 => "keepalived",
        42 => "babel",
        99 => "openr",
        186 => "bgp",
        187 => "isis",
        188 => "ospf",
        189 => "rip",
        192 => "eigrp",
        number => return number.to_string(),
    };
    format!("{protocol}, {name}")
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn main_table() -> u32 {
    MAIN_TABLE
}

// serde hands out references.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_main(table: &u32) -> bool {
    *table == MAIN_TABLE
}

/// The table's name, where it has one in every system.
fn table_name(table: u32) -> String {
    match table {
        MAIN_TABLE => "main".to_owned(),
        other => other.to_string(),
    }
}
