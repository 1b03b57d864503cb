//! The examples of `docs/policy.md` are policies, and every key has one.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::path::Path;

use dra_guest_agent::policy::Policy;

fn documentation() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/policy.md");
    std::fs::read_to_string(path).unwrap()
}

/// The fenced blocks of a language.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    let blocks = text.split(&fence).skip(1);
    blocks
        .map(|rest| rest.split("```").next().unwrap())
        .collect()
}

#[test]
fn every_example_is_a_policy() {
    let text = documentation();
    let examples = blocks(&text, "toml");
    assert!(examples.len() > 12, "the examples are gone");
    for example in examples {
        let policy = Policy::parse("example", example).unwrap_or_else(|error| {
            panic!("{error}\n{example}");
        });
        assert!(policy.table_count() > 0, "{example}");
    }
}

/// The parser names every key that it knows where it knows none that is near.
#[test]
fn every_key_has_an_example() {
    let text = documentation();
    let examples = blocks(&text, "toml").concat();
    for table in [
        "device = [{zzzzzzzz = 1}]",
        "device = [{routes = [{to = \"::/0\", zzzzzzzz = 1}]}]",
        "device = [{rules = [{from = \"::/0\", table = 1, priority = 1, zzzzzzzz = 1}]}]",
    ] {
        let told = Policy::parse("p", table).unwrap_err().to_string();
        let (_, keys) = told.split_once("the keys here are ").unwrap();
        let keys: Vec<&str> = keys.split(", ").collect();
        assert!(keys.len() > 5, "{told}");
        for key in keys {
            assert!(
                examples.contains(&format!("{key} = ")),
                "{key} has no example"
            );
        }
    }
}

#[test]
fn the_shown_mistakes_are_told_as_shown() {
    let text = documentation();
    let shown = *blocks(&text, "console").first().unwrap();
    let (_, shown) = shown.split_once("agent.d/50-nic.toml\n").unwrap();
    let (policy, shown) = shown.split_once("# dra-guest-agent validate ").unwrap();
    let (file, said) = shown.split_once('\n').unwrap();
    let told = Policy::parse(file, policy).unwrap_err().to_string();
    assert_eq!(format!("dra-guest-agent: {told}\n"), said);
}
