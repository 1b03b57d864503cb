//! What goes over the socket: requests as `netlink-packet-route` writes them, and the answers of
//! which the agent reads what it needs.

use std::convert::Infallible;

use rtnetlink::packet_core::{
    DecodeError, NetlinkDeserializable, NetlinkHeader, NetlinkSerializable,
};
use rtnetlink::packet_route::RouteNetlinkMessage;

use super::route::KernelRoute;
use super::{Address, Link, rule};
use crate::routing::RoutingRule;

// include/uapi/linux/rtnetlink.h
const RTM_NEWLINK: u16 = 16;
const RTM_NEWADDR: u16 = 20;
const RTM_NEWROUTE: u16 = 24;
const RTM_NEWRULE: u16 = 32;

/// A message in either direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Message {
    /// A request.
    Request(RouteNetlinkMessage),
    /// An interface.
    Link(Link),
    /// An address.
    Address(Address),
    /// A route.
    Route(KernelRoute),
    /// A policy rule.
    Rule(RoutingRule),
    /// An answer of a kind that was not asked for, or a route or rule that is left out.
    Other(u16),
    /// An answer that cannot be read, and why. It is handed on: left out, it would look as if the
    /// interface did not exist.
    Unreadable(String),
}

impl NetlinkDeserializable for Message {
    type Error = Infallible;

    fn deserialize(header: &NetlinkHeader, payload: &[u8]) -> Result<Self, Infallible> {
        let unreadable = |error: DecodeError| Self::Unreadable(error.to_string());
        Ok(match header.message_type {
            RTM_NEWLINK => Link::parse(payload).map_or_else(unreadable, Self::Link),
            RTM_NEWADDR => Address::parse(payload).map_or_else(unreadable, Self::Address),
            RTM_NEWROUTE => match KernelRoute::parse(payload) {
                Ok(route) => route.map_or(Self::Other(RTM_NEWROUTE), Self::Route),
                Err(error) => unreadable(error),
            },
            RTM_NEWRULE => match rule::parse(payload) {
                Ok(rule) => rule.map_or(Self::Other(RTM_NEWRULE), Self::Rule),
                Err(error) => unreadable(error),
            },
            other => Self::Other(other),
        })
    }
}

impl NetlinkSerializable for Message {
    fn message_type(&self) -> u16 {
        match self {
            Self::Request(request) => request.message_type(),
            Self::Link(_) => RTM_NEWLINK,
            Self::Address(_) => RTM_NEWADDR,
            Self::Route(_) => RTM_NEWROUTE,
            Self::Rule(_) => RTM_NEWRULE,
            Self::Other(number) => *number,
            Self::Unreadable(_) => 0,
        }
    }

    fn buffer_len(&self) -> usize {
        match self {
            Self::Request(request) => request.buffer_len(),
            // Only requests are sent.
            _ => 0,
        }
    }

    fn serialize(&self, buffer: &mut [u8]) {
        if let Self::Request(request) = self {
            request.serialize(buffer);
        }
    }
}
