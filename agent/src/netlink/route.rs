//! A route, as `RTM_NEWROUTE` describes it, and back.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rtnetlink::packet_core::{DecodeError, NlasIterator, Parseable};
use rtnetlink::packet_route::AddressFamily;
use rtnetlink::packet_route::route::{
    RouteAttribute, RouteFlags, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
    RouteVia,
};

use super::attribute::number;
use crate::policy::{Family, Prefix};
use crate::routing::{Route, RouteKind};

/// `struct rtmsg`.
const HEADER_BYTES: usize = 12;

// Attributes: include/uapi/linux/rtnetlink.h.
const RTA_DST: u16 = 1;
const RTA_SRC: u16 = 2;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_PRIORITY: u16 = 6;
const RTA_PREFSRC: u16 = 7;
const RTA_TABLE: u16 = 15;
const RTA_VIA: u16 = 18;

/// A route of the kernel, and the message that described it, for putting it back as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KernelRoute {
    pub(super) route: Route,
    payload: Vec<u8>,
}

impl KernelRoute {
    /// Reads the payload of an `RTM_NEWROUTE`; `None` when it is no route of IPv4 or IPv6, or only
    /// a copy that the kernel made for one destination.
    pub(super) fn parse(payload: &[u8]) -> Result<Option<Self>, DecodeError> {
        let header = RouteHeader::parse(payload)?;
        let any: IpAddr = match header.address_family {
            AddressFamily::Inet => Ipv4Addr::UNSPECIFIED.into(),
            AddressFamily::Inet6 => Ipv6Addr::UNSPECIFIED.into(),
            _ => return Ok(None),
        };
        if header.flags.contains(RouteFlags::Cloned) {
            return Ok(None);
        }
        let length = header.destination_prefix_length;
        let Some(default) = Prefix::around(any, 0) else {
            return Ok(None);
        };
        let mut destination = any;
        let mut route = Route {
            destination: default,
            table: header.table.into(),
            metric: 0,
            kind: kind(header.kind),
            interface: None,
            gateway: None,
            on_link: header.flags.contains(RouteFlags::Onlink),
            from: None,
            tos: header.tos,
            source: None,
            protocol: header.protocol.into(),
        };
        for attribute in NlasIterator::new(payload.get(HEADER_BYTES..).unwrap_or_default()) {
            let attribute = attribute?;
            let value = attribute.value();
            match attribute.kind() {
                RTA_DST => destination = ip(value).unwrap_or(any),
                RTA_SRC => {
                    let range = ip(value);
                    route.from =
                        range.and_then(|ip| Prefix::around(ip, header.source_prefix_length));
                }
                RTA_OIF => route.interface = number(value),
                RTA_GATEWAY => route.gateway = ip(value),
                // `struct rtvia`: the family, then the address.
                RTA_VIA => route.gateway = value.get(2..).and_then(ip),
                RTA_PRIORITY => route.metric = number(value).unwrap_or_default(),
                RTA_PREFSRC => route.source = ip(value),
                RTA_TABLE => route.table = number(value).unwrap_or(route.table),
                _ => {}
            }
        }
        let destination = Prefix::around(destination, length);
        let bad = || DecodeError::from(format!("a prefix length of {length}"));
        route.destination = destination.ok_or_else(bad)?;
        // IPv6 routes that drop packets are shown on `lo`.
        if route.kind != RouteKind::Unicast && route.kind != RouteKind::Other {
            route.interface = None;
        }
        Ok(Some(Self {
            route,
            payload: payload.to_vec(),
        }))
    }

    /// The message that puts it back as it was.
    pub(super) fn restoring(&self) -> Result<RouteMessage, DecodeError> {
        let mut message = RouteMessage::parse(self.payload.as_slice())?;
        // Dead, link down, offloaded: what the kernel says, not what it takes.
        message.header.flags &= RouteFlags::Onlink;
        let is_told = |attribute: &RouteAttribute| {
            matches!(
                attribute,
                RouteAttribute::CacheInfo(_) | RouteAttribute::Expires(_)
            )
        };
        message.attributes.retain(|attribute| !is_told(attribute));
        Ok(message)
    }
}

/// The message that adds a route, or removes it where nothing but it fits.
pub(super) fn message(route: &Route) -> RouteMessage {
    let mut message = RouteMessage::default();
    let header = &mut message.header;
    header.address_family = family(route.destination.family());
    header.destination_prefix_length = route.destination.length();
    header.protocol = RouteProtocol::from(route.protocol);
    header.tos = route.tos;
    header.source_prefix_length = route.from.map_or(0, Prefix::length);
    header.kind = match route.kind {
        RouteKind::Unicast => RouteType::Unicast,
        RouteKind::Blackhole => RouteType::BlackHole,
        RouteKind::Unreachable => RouteType::Unreachable,
        RouteKind::Prohibit => RouteType::Prohibit,
        RouteKind::Throw => RouteType::Throw,
        RouteKind::Other => RouteType::Unspec,
    };
    // Of IPv4 alone: what is on the link is nearer than what is behind a router.
    header.scope = match (route.kind, route.gateway, route.destination.family()) {
        (RouteKind::Unicast, None, Family::Ipv4) => RouteScope::Link,
        _ => RouteScope::Universe,
    };
    if route.on_link {
        header.flags |= RouteFlags::Onlink;
    }
    let attributes = &mut message.attributes;
    attributes.push(RouteAttribute::Table(route.table));
    if !route.is_default() {
        attributes.push(RouteAttribute::Destination(route.destination.ip().into()));
    }
    if let Some(range) = route.from {
        attributes.push(RouteAttribute::Source(range.ip().into()));
    }
    match (route.destination.family(), route.gateway) {
        (Family::Ipv4, Some(IpAddr::V6(gateway))) => {
            attributes.push(RouteAttribute::Via(RouteVia::Inet6(gateway)));
        }
        (_, Some(gateway)) => attributes.push(RouteAttribute::Gateway(gateway.into())),
        (_, None) => {}
    }
    if let Some(interface) = route.interface {
        attributes.push(RouteAttribute::Oif(interface));
    }
    if let Some(source) = route.source {
        attributes.push(RouteAttribute::PrefSource(source.into()));
    }
    if route.metric != 0 {
        attributes.push(RouteAttribute::Priority(route.metric));
    }
    message
}

pub(super) fn family(family: Family) -> AddressFamily {
    match family {
        Family::Ipv4 => AddressFamily::Inet,
        Family::Ipv6 => AddressFamily::Inet6,
    }
}

fn kind(kind: RouteType) -> RouteKind {
    match kind {
        RouteType::Unicast => RouteKind::Unicast,
        RouteType::BlackHole => RouteKind::Blackhole,
        RouteType::Unreachable => RouteKind::Unreachable,
        RouteType::Prohibit => RouteKind::Prohibit,
        RouteType::Throw => RouteKind::Throw,
        _ => RouteKind::Other,
    }
}

/// An address of the length that the value has.
pub(super) fn ip(value: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(value).map(IpAddr::from).ok();
    v4.or_else(|| <[u8; 16]>::try_from(value).map(IpAddr::from).ok())
}
