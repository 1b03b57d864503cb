//! Texts of strangers, made fit for a log, a terminal and a condition.

/// The text without control and direction characters, cut to at most `bytes` bytes between two
/// characters; what was cut is marked by an ellipsis.
///
/// Line ends and tabs become spaces. Direction characters (U+202A to U+202E, U+2066 to U+2069) can
/// show a text in another order than it is read; U+2028 and U+2029 end lines in some viewers.
pub fn plain(text: &str, bytes: usize) -> String {
    const ELLIPSIS: &str = "…";
    let mut plain = String::new();
    for character in text.chars() {
        let character = match character {
            '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => ' ',
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => continue,
            character if character.is_control() => continue,
            character => character,
        };
        plain.push(character);
        if plain.len() > bytes {
            while plain.len() + ELLIPSIS.len() > bytes && plain.pop().is_some() {}
            plain.push_str(ELLIPSIS);
            break;
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn what_could_act_on_a_terminal_is_gone() {
        assert_eq!(plain("a\u{1b}[31mb\0\u{7f}c\u{9b}d", 99), "a[31mbcd");
        assert_eq!(
            plain("two\nlines\tand\u{202e}more", 99),
            "two lines andmore"
        );
    }

    #[test]
    fn the_bound_holds_between_characters() {
        assert_eq!(plain("abcdef", 6), "abcdef");
        assert_eq!(plain("abcdefg", 6), "abc…");
        assert_eq!(plain("ääää", 7), "ää…");
        assert!(plain(&"ä".repeat(5000), 1024).len() <= 1024);
    }
}
