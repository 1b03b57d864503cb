//! `docs/known-bugs.md` has each case once, in order, and each is held by tests that are there and that
//! name it: in a comment right above them, or in the `about.md` of a case's folder.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The numbers that the list began with. Those between them have been merged into others.
const NUMBERS: &str = "1 2 3 5 9 10 12 13 14 15 16 17 19 21 22 23 24 25 26 27 29 \
    30 32 33 34 35 37 39 \
    40 41 43 44 45 46 47 48 49 50 \
    51 52 53 56 57 58 59 \
    60 61 62 64 66 68 70 71 72 73 74 75 76 \
    77 78 79 82 83 \
    84 85 86 87 89 90 91 92 93 94 95 \
    96 97 99 101 103 104 105 106 \
    108 109 109b 110 111 112";

/// A new case has the next number after the last, in whatever section it stands.
const FIRST_NEW: usize = 113;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// One line of the document's tables.
struct Row {
    number: String,
    upstream: Vec<String>,
    /// Names of tests, or none where the last column says why it does not apply.
    held_by: Vec<String>,
    last: String,
}

fn rows() -> Vec<Row> {
    let text = fs::read_to_string(root().join("docs/known-bugs.md")).unwrap();
    let lines = text.lines().filter(|line| {
        let rest = line.strip_prefix("| ");
        rest.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
    });
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [number, upstream, _symptom, _here, last] = cells[..] else {
            panic!("not five columns: {line}");
        };
        assert!(cells.iter().all(|cell| !cell.is_empty()), "{line}");
        let quoted = last.split('`').skip(1).step_by(2);
        Row {
            number: number.to_owned(),
            upstream: upstream.split(", ").map(str::to_owned).collect(),
            held_by: quoted.map(str::to_owned).collect(),
            last: last.to_owned(),
        }
    };
    lines.map(row).collect()
}

fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// The tests by name, each with what stands above it. A name may be there more than once.
fn tests() -> BTreeMap<String, Vec<String>> {
    let mut tests: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut found = Vec::new();
    for room in ["agent", "attributes", "relay", "tests/tests"] {
        files(&root().join(room), &mut found);
    }
    for path in found {
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.extension().is_some_and(|ending| ending == "rs") {
            of_source(&fs::read_to_string(&path).unwrap(), &mut tests);
        } else if ["plan.json", "expected.yaml"].contains(&name(&path).as_str()) {
            let case = path.parent().unwrap();
            let about = fs::read_to_string(case.join("about.md")).unwrap_or_default();
            tests.entry(name(case)).or_default().push(about);
        }
    }
    tests
}

/// Functions below `#[test]` or its like, and the scenes of a whole system: `("name", function),`, on one line or more.
fn of_source(text: &str, tests: &mut BTreeMap<String, Vec<String>>) {
    let mut above = String::new();
    let (mut is_test, mut is_scene) = (false, false);
    for line in text.lines().map(str::trim) {
        let opened = if is_scene { "\"" } else { "(\"" };
        let scene = line
            .strip_prefix(opened)
            .and_then(|rest| rest.split_once('"'));
        is_scene = line == "(";
        if is_scene {
            continue;
        }
        let scene = scene.filter(|(_, rest)| rest.starts_with(','));
        let function = line.trim_start_matches("async ").strip_prefix("fn ");
        let function = function
            .filter(|_| is_test)
            .and_then(|rest| rest.split_once('('));
        if line.starts_with("//") {
            above.push_str(line.trim_start_matches('/'));
        } else if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            is_test = true;
        } else if let Some((name, _)) = scene.or(function) {
            tests
                .entry(name.to_owned())
                .or_default()
                .push(above.clone());
        }
        if !line.starts_with("//") && !line.starts_with('#') {
            above.clear();
            is_test = false;
        }
    }
}

/// Whether a text speaks of the case by its number and by the thread upstream.
fn names(text: &str, row: &Row) -> bool {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let is_named = words.iter().enumerate().any(|(place, word)| {
        // "case 1", "cases 1, 3 and 13"
        let before = words[..place].iter().rev();
        let mut before = before.skip_while(|word| {
            **word == "and" || word.starts_with(|first: char| first.is_ascii_digit())
        });
        let head = before.next().map(|word| word.to_lowercase());
        *word == row.number && head.is_some_and(|head| head == "case" || head == "cases")
    });
    is_named && row.upstream.iter().any(|thread| text.contains(thread))
}

#[test]
fn every_case_is_there_once_and_none_is_missing() {
    let numbers: Vec<String> = rows().into_iter().map(|row| row.number).collect();
    let is_new = |number: &&String| {
        number
            .parse()
            .is_ok_and(|number: usize| number >= FIRST_NEW)
    };
    let (mut new, old): (Vec<&String>, Vec<&String>) = numbers.iter().partition(is_new);
    assert_eq!(old, NUMBERS.split_whitespace().collect::<Vec<_>>());
    new.sort_by_key(|number| (number.len(), *number));
    let expected = (FIRST_NEW..)
        .take(new.len())
        .map(|number| number.to_string());
    assert_eq!(new, expected.collect::<Vec<_>>().iter().collect::<Vec<_>>());
}

#[test]
fn every_case_is_held_by_tests_that_name_it_or_says_why_not() {
    let tests = tests();
    let mut faults = Vec::new();
    for row in rows() {
        let number = &row.number;
        if row.held_by.is_empty() && !row.last.starts_with("does not apply: ") {
            faults.push(format!("case {number}: neither a test nor a reason"));
        }
        for test in &row.held_by {
            match tests.get(test) {
                None => faults.push(format!("case {number}: there is no test {test}")),
                Some(above) if !above.iter().any(|text| names(text, &row)) => {
                    faults.push(format!(
                        "case {number}: {test} does not say \"case {number}\" and one of {:?}",
                        row.upstream
                    ));
                }
                Some(_) => {}
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A test that names a case of the list stands in its row.
#[test]
fn every_folder_that_names_a_case_stands_in_the_list() {
    let rows = rows();
    let mut found = Vec::new();
    for room in ["agent/tests/cases", "relay/tests/cases"] {
        files(&root().join(room), &mut found);
    }
    let abouts = found.iter().filter(|path| path.ends_with("about.md"));
    for path in abouts.clone() {
        let case = path
            .parent()
            .unwrap()
            .file_name()
            .unwrap()
            .to_str()
            .unwrap();
        let mut listed = rows
            .iter()
            .filter(|row| row.held_by.iter().any(|test| test == case));
        let text = fs::read_to_string(path).unwrap();
        let is_listed = listed.any(|row| names(&text, row));
        assert!(is_listed, "{} is not in docs/known-bugs.md", path.display());
    }
    assert!(abouts.count() > 0);
}
