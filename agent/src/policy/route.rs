//! The routes of a policy.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::prefix::{Family, Prefix};
use super::reader::{Reader, Table, Value};
use super::values::{boolean, integer, parsed, text};

/// The routing table that routes are in unless another is named (`RT_TABLE_MAIN`).
pub const MAIN_TABLE: u32 = 254;

/// One route, as the policy has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Route {
    /// Where it leads to.
    pub to: Prefix,
    /// The gateway; of the other family for an IPv4 route over an IPv6 gateway (RFC 5549).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<IpAddr>,
    /// The gateway is on the link though no address of the interface says so. Absent: where no
    /// address says so, it is taken to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_link: Option<bool>,
    /// What becomes of the packets.
    #[serde(default)]
    pub kind: RouteKind,
    /// The preferred source address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<IpAddr>,
    /// The metric; absent: the kernel's default (0 for IPv4, 1024 for IPv6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<u32>,
    /// The routing table, as `/etc/iproute2/rt_tables` numbers them; absent: the main one, or that of the VRF which the
    /// interface is a member of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<u32>,
}

/// What becomes of the packets that a route takes (`RTN_…` in `include/uapi/linux/rtnetlink.h`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RouteKind {
    /// They go out.
    #[default]
    Unicast,
    /// They are dropped without a word.
    Blackhole,
    /// They are refused as unreachable.
    Unreachable,
    /// They are refused as prohibited.
    Prohibit,
    /// The search ends in this table and goes on with the next rule.
    Throw,
}

impl Route {
    /// Reads a table of `routes`.
    pub(super) fn read(table: &mut Table<'_>) -> Option<Self> {
        let to = table.required("to", destination);
        let via = table.key("via", parsed::<IpAddr>);
        let on_link = table.key("on-link", boolean);
        let kind = table.key("type", kind).unwrap_or_default();
        let source = table.key("source", parsed::<IpAddr>);
        let metric = table.key("metric", integer("a metric", 0..=u32::MAX));
        let number = table.key("table", table_number);
        let to = to?.prefix(table, via.or(source))?;
        if on_link.is_some() && via.is_none() {
            table.mistake_at(
                "on-link",
                "`on-link` says something of `via`, which is missing",
            );
        }
        if kind != RouteKind::Unicast && (via.is_some() || source.is_some()) {
            table.mistake_at(
                "type",
                "a route that sends nothing out has no `via` and no `source`",
            );
        }
        if via.is_some_and(|ip| is_no_hosts(ip) || ip.is_loopback()) {
            table.mistake_at("via", "a gateway has an address of its own");
        }
        if source.is_some_and(is_no_hosts) {
            table.mistake_at("source", "no host can send from that address");
        }
        if number == Some(LOCAL_TABLE) {
            table.mistake_at(
                "table",
                "that table is the kernel's, for the guest's own addresses",
            );
        }
        if to.family() == Family::Ipv6 && via.is_some_and(|ip| ip.is_ipv4()) {
            table.mistake_at("via", "an IPv6 route has an IPv6 gateway");
        }
        if source.is_some_and(|ip| Family::of(ip) != to.family()) {
            let message = format!("the source of an {} route is an {0} address", to.family());
            table.mistake_at("source", message);
        }
        Some(Self {
            to,
            via,
            on_link,
            kind,
            source,
            metric,
            table: number,
        })
    }
}

/// The table that the kernel keeps (`RT_TABLE_LOCAL`).
const LOCAL_TABLE: u32 = 255;

fn is_no_hosts(ip: IpAddr) -> bool {
    let is_broadcast = matches!(ip, IpAddr::V4(ip) if ip.is_broadcast());
    ip.is_unspecified() || ip.is_multicast() || is_broadcast
}

/// `to`, whose family may only be known from the gateway.
enum Destination {
    Default,
    Prefix(Prefix),
}

impl Destination {
    fn prefix(self, table: &mut Table<'_>, family_of: Option<IpAddr>) -> Option<Prefix> {
        let ip = match (self, family_of) {
            (Self::Prefix(prefix), _) => return Some(prefix),
            (Self::Default, Some(IpAddr::V4(_))) => IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED),
            (Self::Default, Some(IpAddr::V6(_))) => IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED),
            (Self::Default, None) => {
                let message = "the family of `default` is that of `via`, which is missing: write \
                               \"0.0.0.0/0\" or \"::/0\"";
                table.mistake_at("to", message);
                return None;
            }
        };
        Prefix::around(ip, 0)
    }
}

fn destination(reader: &mut Reader, value: &Value<'_>) -> Option<Destination> {
    if value.get_ref().as_str() == Some("default") {
        return Some(Destination::Default);
    }
    parsed(reader, value).map(Destination::Prefix)
}

fn kind(reader: &mut Reader, value: &Value<'_>) -> Option<RouteKind> {
    Some(match text(reader, value)?.as_str() {
        "unicast" => RouteKind::Unicast,
        "blackhole" => RouteKind::Blackhole,
        "unreachable" => RouteKind::Unreachable,
        "prohibit" => RouteKind::Prohibit,
        "throw" => RouteKind::Throw,
        _ => {
            let kinds = "\"unicast\", \"blackhole\", \"unreachable\", \"prohibit\" or \"throw\"";
            reader.mistake(value.span(), format!("a route's type is {kinds}"));
            return None;
        }
    })
}

/// A table's number, or its name as every iproute2 has it.
pub(super) fn table_number(reader: &mut Reader, value: &Value<'_>) -> Option<u32> {
    let Some(name) = value.get_ref().as_str() else {
        // 0 is "no table said" (RT_TABLE_UNSPEC).
        return integer("a table", 1..=u32::MAX)(reader, value);
    };
    match name {
        "main" => Some(MAIN_TABLE),
        "default" => Some(253),
        _ => {
            let message = "a table is a number, \"main\" or \"default\"";
            reader.mistake(value.span(), message);
            None
        }
    }
}
