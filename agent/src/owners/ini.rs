//! The `[Section]` and `Key=value` lines that systemd and `NetworkManager` write and read.

/// The value that a key of a section has last, as `systemd.syntax(7)` has it.
pub(super) fn value<'a>(text: &'a str, section: &str, key: &str) -> Option<&'a str> {
    entries(text, section)
        .filter(|(name, _)| *name == key)
        .map(|(_, value)| value)
        .last()
}

/// The keys and values of a section, in their order; of all parts of it, when it comes again.
pub(super) fn entries<'a>(
    text: &'a str,
    section: &str,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let mut inside = false;
    text.lines().map(str::trim).filter_map(move |line| {
        if let Some(name) = line.strip_prefix('[') {
            inside = name.strip_suffix(']') == Some(section);
            return None;
        }
        if !inside || line.starts_with(['#', ';']) {
            return None;
        }
        let (key, value) = line.split_once('=')?;
        Some((key.trim(), value.trim()))
    })
}

/// `yes`, `true`, `on` and `1`, as systemd and `GKeyFile` take them.
pub(super) fn is_true(value: &str) -> bool {
    ["yes", "true", "on", "1", "y", "t"]
        .iter()
        .any(|word| word.eq_ignore_ascii_case(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_may_come_again_and_the_last_value_counts() {
        let text = "Key=none\n[A]\n# Key=no\nKey = one\n[B]\nKey=two\n[A]\nKey=three \n[";
        assert_eq!(value(text, "A", "Key"), Some("three"));
        assert_eq!(value(text, "B", "Key"), Some("two"));
        assert_eq!(value(text, "C", "Key"), None);
        assert_eq!(entries(text, "A").count(), 2);
    }
}
