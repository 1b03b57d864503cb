//! A policy rule, as `RTM_NEWRULE` describes it, and back.

use rtnetlink::packet_core::{DecodeError, NlasIterator};
use rtnetlink::packet_route::AddressFamily;
use rtnetlink::packet_route::route::RouteProtocol;
use rtnetlink::packet_route::rule::{
    RuleAction, RuleAttribute, RuleFlags, RuleHeader, RuleMessage,
};

use super::attribute::number;
use super::route::{family, ip};
use crate::policy::{Family, Mark, Prefix};
use crate::routing::RoutingRule;

/// `struct fib_rule_hdr`.
const HEADER_BYTES: usize = 12;

// Attributes: include/uapi/linux/fib_rules.h.
const FRA_DST: u16 = 1;
const FRA_SRC: u16 = 2;
const FRA_IIFNAME: u16 = 3;
const FRA_PRIORITY: u16 = 6;
const FRA_FWMARK: u16 = 10;
const FRA_SUPPRESS_IFGROUP: u16 = 13;
const FRA_SUPPRESS_PREFIXLEN: u16 = 14;
const FRA_TABLE: u16 = 15;
const FRA_FWMASK: u16 = 16;
const FRA_PAD: u16 = 18;
const FRA_PROTOCOL: u16 = 21;

/// `FIB_RULE_INVERT`.
const INVERT: u32 = 2;

/// Reads the payload of an `RTM_NEWRULE`; `None` when it selects by something that no policy
/// can name, or leads to no table.
pub(super) fn parse(payload: &[u8]) -> Result<Option<RoutingRule>, DecodeError> {
    let header = RuleHeader::parse(payload)?;
    let family = match header.family {
        AddressFamily::Inet => Family::Ipv4,
        AddressFamily::Inet6 => Family::Ipv6,
        _ => return Ok(None),
    };
    if header.action != RuleAction::ToTable || header.tos != 0 || header.flags.bits() & INVERT != 0
    {
        return Ok(None);
    }
    let mut rule = RoutingRule {
        priority: 0,
        family,
        from: None,
        to: None,
        iif: None,
        fwmark: None,
        table: header.table.into(),
        protocol: 0,
    };
    // A rule that looks at no mark has both as zero.
    let mut mark = (0, 0);
    for attribute in NlasIterator::new(payload.get(HEADER_BYTES..).unwrap_or_default()) {
        let attribute = attribute?;
        let value = attribute.value();
        match attribute.kind() {
            FRA_SRC => rule.from = prefix(value, header.src_len),
            FRA_DST => rule.to = prefix(value, header.dst_len),
            FRA_IIFNAME => rule.iif = Some(super::text(value)),
            FRA_FWMARK => mark.0 = number(value).unwrap_or_default(),
            FRA_FWMASK => mark.1 = number(value).unwrap_or_default(),
            FRA_PRIORITY => rule.priority = number(value).unwrap_or_default(),
            FRA_TABLE => rule.table = number(value).unwrap_or(rule.table),
            FRA_PROTOCOL => rule.protocol = value.first().copied().unwrap_or_default(),
            FRA_PAD => {}
            // Every rule has these, all bits set where it does not suppress.
            FRA_SUPPRESS_IFGROUP | FRA_SUPPRESS_PREFIXLEN if number(value) == Some(u32::MAX) => {}
            _ => return Ok(None),
        }
    }
    if let (value, mask @ 1..) = mark {
        rule.fwmark = Some(Mark { value, mask });
    }
    Ok(Some(rule))
}

/// The message that adds a rule, or removes it.
pub(super) fn message(rule: &RoutingRule) -> RuleMessage {
    let mut message = RuleMessage::default();
    let header = &mut message.header;
    header.family = family(rule.family);
    header.action = RuleAction::ToTable;
    header.flags = RuleFlags::empty();
    let attributes = &mut message.attributes;
    if let Some(from) = rule.from {
        header.src_len = from.length();
        attributes.push(RuleAttribute::Source(from.ip()));
    }
    if let Some(to) = rule.to {
        header.dst_len = to.length();
        attributes.push(RuleAttribute::Destination(to.ip()));
    }
    if let Some(iif) = &rule.iif {
        attributes.push(RuleAttribute::Iifname(iif.clone()));
    }
    if let Some(mark) = rule.fwmark {
        attributes.push(RuleAttribute::FwMark(mark.value));
        attributes.push(RuleAttribute::FwMask(mark.mask));
    }
    attributes.push(RuleAttribute::Priority(rule.priority));
    attributes.push(RuleAttribute::Table(rule.table));
    attributes.push(RuleAttribute::Protocol(RouteProtocol::from(rule.protocol)));
    message
}

fn prefix(value: &[u8], length: u8) -> Option<Prefix> {
    Prefix::around(ip(value)?, length)
}
