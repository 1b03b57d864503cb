//! Whatever stands in a manifest is the same after it was written and read again.

#![allow(clippy::unwrap_used, missing_docs)]

use dra_guest_relay::manifest::Format;
use dra_guest_relay::value::Value;
use proptest::prelude::*;

fn text() -> impl Strategy<Value = String> {
    // Besides any text: what YAML readers take for another type, and what has a meaning in YAML.
    let tricky = prop::sample::select(vec![
        "",
        "~",
        "null",
        "yes",
        "No",
        "on",
        "True",
        "y",
        "0x1f",
        "0o17",
        "017",
        "1e3",
        ".5",
        "1_000",
        "12:30:45",
        "52:54:00:12:34:56",
        "2026-09-01T00:00:00Z",
        "2026-09-01",
        ".inf",
        "-",
        "- a",
        "a: b",
        "a #b",
        "#",
        "&a",
        "*a",
        "!t",
        "|",
        ">",
        "%",
        "@",
        "`",
        "\"",
        "'",
        "{}",
        "[]",
        "?",
        ":",
        "---",
        "...",
        "<<",
        "=",
        " a ",
        "a\n",
        "\na",
        "a\n\nb\n\n",
        "\t",
        "a\tb",
        "\u{feff}",
        "\u{85}",
        "\u{2028}",
        "\r\n",
        "\u{7f}",
        "\0",
        "0000-3b-02-1",
        "worker-0",
    ])
    .prop_map(str::to_owned);
    prop_oneof![tricky, any::<String>(), "[ -~\n]{0,120}"]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Integer),
        (i64::MAX as u64 + 1..).prop_map(Value::Unsigned),
        (-1e15..1e15).prop_map(Value::Float),
        text().prop_map(Value::Text),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::List),
            prop::collection::btree_map(text(), inner, 0..6)
                .prop_map(|map| Value::Map(map.into_iter().rev().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn yaml_and_json_keep_every_value(value in value()) {
        let value = Value::Map(vec![("metadata".to_owned(), value)]);
        for format in [Format::Yaml, Format::Json] {
            let text = format.render(std::slice::from_ref(&value)).unwrap();
            let read = format.parse("file", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            prop_assert_eq!(&read, &vec![value.clone()], "{}", text);
        }
    }
}
