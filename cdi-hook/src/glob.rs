//! Patterns with `*` for any text, none included, and `?` for one character.

/// Whether a text is as the pattern has it, from its start to its end.
///
/// In time of the product of both lengths at most: at a mismatch only the last `*` takes one
/// character more.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let mut pattern = pattern.chars();
    let mut text = text.chars();
    // Where to go on after the last `*`: behind it, and at which text.
    let mut retry: Option<(std::str::Chars<'_>, std::str::Chars<'_>)> = None;
    loop {
        let mut rest = pattern.clone();
        let mut left = text.clone();
        match (rest.next(), left.next()) {
            (Some('*'), _) => {
                pattern = rest;
                retry = Some((pattern.clone(), text.clone()));
            }
            (None, None) => return true,
            (Some(wanted), Some(found)) if wanted == '?' || wanted == found => {
                pattern = rest;
                text = left;
            }
            _ => {
                let Some((after, at)) = &mut retry else {
                    return false;
                };
                if at.next().is_none() {
                    return false;
                }
                pattern = after.clone();
                text = at.clone();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_match_from_start_to_end() {
        for (pattern, text, expected) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("*", "any/text", true),
            ("*.toml", "10-x.toml", true),
            ("*.toml", "10-x.toml.bak", false),
            (
                "resource.kubernetes.io/*",
                "resource.kubernetes.io/pciBusID",
                true,
            ),
            ("resource.kubernetes.io/*", "dra.net/pciBusID", false),
            ("*/numa*", "dra.net/numaNode", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-b-b-", false),
            ("?", "é", true),
            ("??", "é", false),
            ("**", "x", true),
            ("a*", "b", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn a_hostile_pattern_takes_no_exponential_time() {
        let pattern = "a*".repeat(64) + "b";
        assert!(!matches(&pattern, &"a".repeat(4096)));
    }
}
