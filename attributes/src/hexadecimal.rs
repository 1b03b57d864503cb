//! Bytes as hexadecimal digits. Formatting each by itself takes most of the time of what is shown of it.

/// Two lower-case digits for each byte.
pub fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let [high, low] = pair(*byte);
        text.push(char::from(high));
        text.push(char::from(low));
    }
    text
}

/// The two digits of a byte, in ASCII.
pub(crate) fn pair(byte: u8) -> [u8; 2] {
    [byte >> 4, byte & 15].map(|digit| match digit {
        0..=9 => b'0' + digit,
        _ => b'a' - 10 + digit,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_its_digits() {
        for byte in 0..=u8::MAX {
            assert_eq!(hexadecimal(&[byte]), format!("{byte:02x}"));
        }
        assert_eq!(hexadecimal(&[0, 0x1f, 0xa0]), "001fa0");
    }
}
