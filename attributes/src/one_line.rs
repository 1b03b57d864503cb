//! Texts of strangers, fit for a log and a terminal.

/// The text on one line of at most about `most` bytes before escaping.
///
/// Control characters and what is not printed (newlines, escapes of terminals, marks that turn the
/// direction of writing) are written as escapes: a stranger must not forge a line or drive a
/// terminal. A longer text loses its middle, since a message ends with its reason.
pub fn one_line(text: &str, most: usize) -> String {
    let mut line = String::with_capacity(text.len().min(most));
    if text.len() <= most {
        escape(text, &mut line);
    } else {
        let head = text.floor_char_boundary(most / 2);
        let tail = text.ceil_char_boundary(text.len() - most / 2);
        escape(text.get(..head).unwrap_or_default(), &mut line);
        line.push('…');
        escape(text.get(tail..).unwrap_or_default(), &mut line);
    }
    line
}

fn escape(text: &str, line: &mut String) {
    for character in text.chars() {
        match character {
            // What `escape_debug` would escape beyond what this is about.
            '\'' | '"' | '\\' => line.push(character),
            _ => line.extend(character.escape_debug()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn what_is_not_printed_is_escaped() {
        assert_eq!(
            one_line("a\nb\u{1b}[31mc\r é \u{9b}\u{202e} \"\\'", 100),
            "a\\nb\\u{1b}[31mc\\r é \\u{9b}\\u{202e} \"\\'"
        );
    }

    #[test]
    fn a_long_text_keeps_its_two_ends() {
        assert_eq!(one_line("éééééééééé: why", 10), "éé…: why");
        assert_eq!(one_line("0123456789", 10), "0123456789");
    }
}
