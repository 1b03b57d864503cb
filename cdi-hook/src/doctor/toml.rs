//! As much of TOML as the doctor asks a configuration for: tables, and keys whose values are true,
//! false, strings or lists of strings.
//!
//! Own code, since a whole TOML library would be a twentieth of the hook's size, which every container
//! waits for. What it does not understand it passes over: the runtime is who judges its configuration.

/// A value that was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// `true` or `false`.
    Boolean(bool),
    /// A string, or a list of strings.
    Strings(Vec<String>),
}

/// Calls `tell` for each key of a value that is understood, with the way to it from the top.
pub(super) fn read(text: &str, tell: &mut dyn FnMut(&[String], Value)) {
    let mut rest = text;
    let mut table = Vec::new();
    while !rest.is_empty() {
        rest = rest.trim_start();
        if let Some(header) = rest.strip_prefix('[') {
            // A table of a list, `[[x]]`, has an empty first name and matches nothing.
            (table, rest) = key(header);
            rest = end_of_line(rest);
        } else if rest.starts_with('#') {
            rest = end_of_line(rest);
        } else {
            let (names, after) = key(rest);
            let Some(after) = after.strip_prefix('=') else {
                rest = end_of_line(rest);
                continue;
            };
            let (value, after) = value(after.trim_start_matches([' ', '\t']));
            if let Some(value) = value {
                let path = [table.as_slice(), &names].concat();
                tell(&path, value);
            }
            rest = end_of_line(after);
        }
    }
}

fn end_of_line(text: &str) -> &str {
    text.split_once('\n').map_or("", |(_, rest)| rest)
}

/// Names between dots, bare or quoted, and what follows them.
fn key(text: &str) -> (Vec<String>, &str) {
    let mut names = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        let (name, after) = if let Some((name, after)) = string(rest) {
            (name, after)
        } else {
            let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
            let end = rest.find(|c: char| !bare(c)).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            (name.to_owned(), after)
        };
        names.push(name);
        rest = after.trim_start_matches([' ', '\t']);
        match rest.strip_prefix('.') {
            Some(after) => rest = after,
            None => return (names, rest),
        }
    }
}

/// A value, where it is understood, and what follows it.
fn value(text: &str) -> (Option<Value>, &str) {
    if let Some(rest) = text.strip_prefix("true") {
        return (Some(Value::Boolean(true)), rest);
    }
    if let Some(rest) = text.strip_prefix("false") {
        return (Some(Value::Boolean(false)), rest);
    }
    for long in ["\"\"\"", "'''"] {
        if let Some(rest) = text.strip_prefix(long) {
            return (None, rest.split_once(long).map_or("", |(_, rest)| rest));
        }
    }
    if let Some((text, rest)) = string(text) {
        return (Some(Value::Strings(vec![text])), rest);
    }
    match text.strip_prefix('[') {
        Some(rest) => list(rest),
        None => (None, text),
    }
}

/// A list behind its bracket. Of one that holds more than strings the strings are taken.
fn list(text: &str) -> (Option<Value>, &str) {
    let mut strings = Vec::new();
    let mut depth = 1;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some((text, after)) = string(rest) {
            strings.push(text);
            rest = after;
            continue;
        }
        if first == '#' {
            rest = end_of_line(rest);
            continue;
        }
        rest = rest.get(first.len_utf8()..).unwrap_or_default();
        match first {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    (Some(Value::Strings(strings)), rest)
}

/// A string on one line, and what follows it.
fn string(text: &str) -> Option<(String, &str)> {
    if let Some(literal) = text.strip_prefix('\'') {
        let (content, rest) = literal.split_once('\'')?;
        return Some((content.to_owned(), rest));
    }
    let mut content = String::new();
    let mut characters = text.strip_prefix('"')?.chars();
    loop {
        match characters.next()? {
            '"' => return Some((content, characters.as_str())),
            // Of the escapes those that a path may have.
            '\\' => content.push(characters.next()?),
            '\n' => return None,
            other => content.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_found_in_all_its_spellings() {
        let text = r#"
version = 3 # a number is passed over
imports = ["/etc/containerd/conf.d/*.toml", 'b#c'] # list
long = """
enable_cdi = true
"""
[plugins."io.containerd.cri.v1.runtime"]
  enable_cdi = false
  cdi_spec_dirs = [
    "/etc/cdi", # one
    "/var/run/cdi",
  ]
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dir = "/opt/cni\\bin"
[[list]]
enable_cdi = true
[a]
b."c.d" = true
broken line
e = "open
f = true"#;
        let mut found = Vec::new();
        read(text, &mut |path, value| found.push((path.join("|"), value)));
        let strings =
            |list: &[&str]| Value::Strings(list.iter().map(|&text| text.to_owned()).collect());
        let cri = "plugins|io.containerd.cri.v1.runtime";
        assert_eq!(
            found,
            [
                (
                    "imports".to_owned(),
                    strings(&["/etc/containerd/conf.d/*.toml", "b#c"])
                ),
                (format!("{cri}|enable_cdi"), Value::Boolean(false)),
                (
                    format!("{cri}|cdi_spec_dirs"),
                    strings(&["/etc/cdi", "/var/run/cdi"])
                ),
                (format!("{cri}|cni|bin_dir"), strings(&["/opt/cni\\bin"])),
                ("|enable_cdi".to_owned(), Value::Boolean(true)),
                ("a|b|c.d".to_owned(), Value::Boolean(true)),
                ("a|f".to_owned(), Value::Boolean(true)),
            ]
        );
    }

    #[test]
    fn no_text_makes_it_hang_or_panic() {
        for text in [
            "[",
            "a=[",
            "a='",
            "a=\"\\",
            "=",
            "[[",
            "\u{e9}=\u{e9}",
            "a=[[[\"x",
            "a=\"\"\"",
            ".",
        ] {
            read(text, &mut |_, _| {});
            read(&text.repeat(1000), &mut |_, _| {});
        }
    }
}
