//! Lists of names in messages: the first ones, and how many more there are.

use std::fmt::{Display, Write as _};

/// How many names a message has. A thousand devices with one MAC would else have a million.
const NAMED: usize = 8;

/// Like `net1, net2 and 3 more`; empty when there is none.
pub(crate) fn listing(names: impl IntoIterator<Item = impl Display>) -> String {
    let mut names = names.into_iter();
    let named: Vec<String> = names
        .by_ref()
        .take(NAMED)
        .map(|name| name.to_string())
        .collect();
    let mut text = named.join(", ");
    let more = names.count();
    if more > 0 {
        // Writing to a String cannot fail.
        let _ = write!(text, " and {more} more");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_its_first_names_and_a_count() {
        assert_eq!(listing([""; 0]), "");
        assert_eq!(listing(["net1"]), "net1");
        assert_eq!(listing(1..=8), "1, 2, 3, 4, 5, 6, 7, 8");
        assert_eq!(listing(1..=1000), "1, 2, 3, 4, 5, 6, 7, 8 and 992 more");
    }
}
