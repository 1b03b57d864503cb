//! Which requests of a claim a pod was given.

use std::collections::BTreeSet;

/// Some or all requests of a claim (`resources.claims[].request` of a container).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requests {
    /// The whole claim.
    All,
    /// Those with these names.
    Some(BTreeSet<String>),
}

impl Requests {
    /// Takes in what another reference gives.
    pub fn extend(&mut self, other: &Self) {
        match (&mut *self, other) {
            (Self::All, _) => {}
            (_, Self::All) => *self = Self::All,
            (Self::Some(held), Self::Some(more)) => held.extend(more.iter().cloned()),
        }
    }

    /// Whether a result of the allocation is for one of them. A prioritised list is referenced by its own name, and a
    /// result names `request/subrequest`.
    pub fn cover(&self, result: &str) -> bool {
        match self {
            Self::All => true,
            Self::Some(names) => {
                let base = result.split_once('/').map_or(result, |(base, _)| base);
                names.contains(base) || names.contains(result)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(names: &[&str]) -> Requests {
        Requests::Some(names.iter().map(|&name| name.to_owned()).collect())
    }

    #[test]
    fn a_reference_covers_what_it_names() {
        for (requests, result, covered) in [
            (Requests::All, "vf", true),
            (some(&["vf"]), "vf", true),
            (some(&["vf"]), "vf/fast", true),
            (some(&["vf/fast"]), "vf/fast", true),
            (some(&["vf"]), "gpu", false),
            (some(&[]), "vf", false),
        ] {
            assert_eq!(requests.cover(result), covered, "{requests:?} {result}");
        }
    }

    #[test]
    fn two_references_cover_what_either_does() {
        for (mut one, other, both) in [
            (some(&["a"]), some(&["b"]), some(&["a", "b"])),
            (some(&["a"]), Requests::All, Requests::All),
            (Requests::All, some(&["a"]), Requests::All),
        ] {
            one.extend(&other);
            assert_eq!(one, both);
        }
    }
}
