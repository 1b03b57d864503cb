//! A route.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::{IPV6_METRIC, PROTOCOL, is_default, is_main, main_table, table_name};
use crate::policy::{self, Family, Prefix};

/// A route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Route {
    /// Where to; `0.0.0.0/0` and `::/0` are the default routes.
    pub destination: Prefix,
    /// The routing table; absent for the main one.
    #[serde(default = "main_table", skip_serializing_if = "is_main")]
    pub table: u32,
    /// The metric, `RTA_PRIORITY`: the least wins.
    #[serde(default, skip_serializing_if = "is_default")]
    pub metric: u32,
    /// What becomes of a packet; absent when it is sent on.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kind: RouteKind,
    /// The index of the interface that it leaves through; absent when there is none, or several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<u32>,
    /// The next router; of IPv6 for an IPv4 route too (`RTA_VIA`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<IpAddr>,
    /// Whether the gateway is on the link though no address says so (`RTNH_F_ONLINK`).
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_link: bool,
    /// Where the packets must come from (`RTA_SRC`, of IPv6 alone); absent for anywhere. No policy names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Prefix>,
    /// The type of service that the packets must have (`rtm_tos`, of IPv4 alone); absent for any. No policy
    /// names it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tos: u8,
    /// The source address that is preferred (`RTA_PREFSRC`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<IpAddr>,
    /// Who made it.
    pub protocol: u8,
}

/// What becomes of a packet (`rtm_type`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RouteKind {
    /// It is sent on.
    #[default]
    Unicast,
    /// It is dropped.
    Blackhole,
    /// It is dropped, and its sender told that the host cannot be reached.
    Unreachable,
    /// It is dropped, and its sender told that this is forbidden.
    Prohibit,
    /// The next rule decides.
    Throw,
    /// Anything else: what is local, broadcast and so on.
    Other,
}

impl From<policy::RouteKind> for RouteKind {
    fn from(kind: policy::RouteKind) -> Self {
        match kind {
            policy::RouteKind::Unicast => Self::Unicast,
            policy::RouteKind::Blackhole => Self::Blackhole,
            policy::RouteKind::Unreachable => Self::Unreachable,
            policy::RouteKind::Prohibit => Self::Prohibit,
            policy::RouteKind::Throw => Self::Throw,
        }
    }
}

impl Route {
    /// Whether both cannot be in the kernel at once without one standing before the other:
    /// `NLM_F_EXCL` refuses the second (`fib_table_insert` in `net/ipv4/fib_trie.c`,
    /// `fib6_add_rt2node` in `net/ipv6/ip6_fib.c`). One for some packets only is in no place of one for all.
    pub fn is_in_place_of(&self, other: &Self) -> bool {
        let key = |it: &Self| {
            (
                it.destination,
                it.table,
                it.effective_metric(),
                it.from,
                it.tos,
            )
        };
        key(self) == key(other)
    }

    /// Whether both lead to the same place, whoever made them. A preferred source or an on-link
    /// flag that this one does not ask for may be there.
    pub fn is_met_by(&self, other: &Self) -> bool {
        self.is_in_place_of(other)
            && self.kind == other.kind
            && (self.kind != RouteKind::Unicast || self.interface == other.interface)
            && self.gateway == other.gateway
            && self.source.is_none_or(|ip| other.source == Some(ip))
    }

    /// Whether the agent made it.
    pub fn is_own(&self) -> bool {
        self.protocol == PROTOCOL
    }

    /// Whether the kernel made it: from an address (`RTPROT_KERNEL`), from what a router said
    /// (`RTPROT_RA`, `RTPROT_REDIRECT`). It comes again by itself.
    pub fn is_automatic(&self) -> bool {
        matches!(self.protocol, 1 | 2 | 9)
    }

    /// Whether it is a default route.
    pub fn is_default(&self) -> bool {
        self.destination.is_default()
    }

    /// The metric that the kernel gives it.
    pub fn effective_metric(&self) -> u32 {
        if self.metric == 0 && self.destination.family() == Family::Ipv6 {
            IPV6_METRIC
        } else {
            self.metric
        }
    }
}

impl fmt::Display for Route {
    /// Like `route default via 192.0.2.1, table 100, metric 50`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            RouteKind::Unicast => "",
            RouteKind::Blackhole => "blackhole ",
            RouteKind::Unreachable => "unreachable ",
            RouteKind::Prohibit => "prohibit ",
            RouteKind::Throw => "throw ",
            RouteKind::Other => "special ",
        };
        write!(f, "{kind}route ")?;
        match (self.is_default(), self.destination.family()) {
            (true, Family::Ipv4) => f.write_str("default")?,
            (true, Family::Ipv6) => f.write_str("default (IPv6)")?,
            _ => self.destination.fmt(f)?,
        }
        if let Some(gateway) = self.gateway {
            write!(f, " via {gateway}")?;
        }
        if self.on_link {
            f.write_str(" on link")?;
        }
        if let Some(source) = self.source {
            write!(f, " from {source}")?;
        }
        if let Some(range) = self.from {
            write!(f, ", for packets from {range}")?;
        }
        if self.tos != 0 {
            write!(f, ", for packets of TOS {:#04x}", self.tos)?;
        }
        if !is_main(&self.table) {
            write!(f, ", table {}", table_name(self.table))?;
        }
        if self.metric != 0 {
            write!(f, ", metric {}", self.metric)?;
        }
        Ok(())
    }
}
