//! The values of netlink attributes: numbers, and what is nested in them.

use rtnetlink::packet_core::NLA_TYPE_MASK;

/// A number of 32 bits in the machine's order.
pub(super) fn number(value: &[u8]) -> Option<u32> {
    value.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

/// A place of an array of such numbers.
pub(super) fn number_at(value: &[u8], place: usize) -> Option<u32> {
    value.get(place * 4..).and_then(number)
}

/// The values of one kind among nested attributes.
pub(super) fn nested(value: &[u8], kind: u16) -> impl Iterator<Item = &[u8]> {
    let mut rest = value;
    std::iter::from_fn(move || {
        // `struct nlattr`: length and kind.
        loop {
            let [a, b, c, d] = *rest.first_chunk()?;
            let length = usize::from(u16::from_ne_bytes([a, b]));
            let value = rest.get(4..length)?;
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
            if u16::from_ne_bytes([c, d]) & NLA_TYPE_MASK == kind {
                return Some(value);
            }
        }
    })
}

/// The texts of one kind among nested attributes.
pub(super) fn nested_text(value: &[u8], kind: u16) -> impl Iterator<Item = String> {
    nested(value, kind).map(super::text)
}
