//! The values of netlink attributes: numbers, and what is nested in them.

use rtnetlink::packet_core::{DecodeError, NLA_TYPE_MASK};

/// A number of 32 bits in the machine's order.
pub(super) fn number(value: &[u8]) -> Option<u32> {
    value.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

/// A place of an array of such numbers.
pub(super) fn number_at(value: &[u8], place: usize) -> Option<u32> {
    value.get(place * 4..).and_then(number)
}

/// The kind, without its flags, and the value of each attribute, up to the first that is cut.
///
/// The iterator of `netlink-packet-core` gives the same by four times the instructions, of which the attributes of the
/// links are most of a look's.
pub(super) fn attributes(bytes: &[u8]) -> impl Iterator<Item = Result<(u16, &[u8]), DecodeError>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (attribute, after) = first(rest).map_or_else(
            || {
                let error = DecodeError::from("the message ends within an attribute");
                (Err(error), &[][..])
            },
            |(kind, value, after)| (Ok((kind, value)), after),
        );
        rest = after;
        Some(attribute)
    })
}

/// The kind and the value of the first attribute, and what follows it.
fn first(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    // `struct nlattr`: length and kind.
    let [a, b, c, d] = *bytes.first_chunk()?;
    let length = usize::from(u16::from_ne_bytes([a, b]));
    let kind = u16::from_ne_bytes([c, d]) & NLA_TYPE_MASK;
    let value = bytes.get(4..length)?;
    let after = bytes.get(length.next_multiple_of(4)..);
    Some((kind, value, after.unwrap_or_default()))
}

/// The values of one kind among nested attributes.
pub(super) fn nested(value: &[u8], kind: u16) -> impl Iterator<Item = &[u8]> {
    let whole = attributes(value).map_while(Result::ok);
    whole.filter_map(move |(of, value)| (of == kind).then_some(value))
}

/// The texts of one kind among nested attributes.
pub(super) fn nested_text(value: &[u8], kind: u16) -> impl Iterator<Item = String> {
    nested(value, kind).map(super::text)
}
