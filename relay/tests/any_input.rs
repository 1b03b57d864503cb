//! No input makes a reader panic: lines of guests, and manifests.

#![allow(missing_docs)]

use dra_guest_relay::manifest::Format;
use dra_guest_relay::message::parse;
use proptest::prelude::*;

/// Texts that look like lines and manifests in most places.
fn nearly() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "\\u",
        "d83d",
        "\n",
        "\n  ",
        "- ",
        "? ",
        "&a ",
        "*a",
        "<<: ",
        "|\n",
        ">-",
        "---\n",
        "...",
        "!!str ",
        "%YAML 1.2\n",
        "#",
        "1e999",
        "-0",
        "null",
        "type",
        "\"type\":",
        "\"report\"",
        "\"hello\"",
        "\"sequence\":",
        "\"devices\":",
        "\"identity\":",
        "\"claim\":",
        "kind: ResourceClaim",
        "status:",
        "\t",
        "\u{feff}",
        "\0",
        "ä",
    ]);
    prop::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(5000) })]

    #[test]
    fn a_line_is_a_message_or_an_error_of_one_short_line(
        line in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200),
            nearly().prop_map(String::into_bytes),
        ]
    ) {
        if let Err(words) = parse(&line) {
            prop_assert!(words.len() <= 256 && !words.contains(char::is_control), "{}", words);
        }
    }

    #[test]
    fn a_manifest_that_is_read_can_be_written(text in prop_oneof![nearly(), any::<String>()]) {
        for format in [Format::Yaml, Format::Json] {
            match format.parse("file", &text) {
                Ok(documents) => prop_assert!(format.render(&documents).is_ok()),
                Err(error) => prop_assert_eq!(error.to_string().lines().count(), 1),
            }
        }
    }
}
