//! Options: those of the command lines in the documentation are the programs', and each of the programs' is in it.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::process::Command;

use dra_guest_tests::command::stdout_of;
use dra_guest_tests::programs::static_program;

use super::{Document, documents};

/// Each program, and the documents of its face.
const PROGRAMS: [(&str, &[&str]); 4] = [
    ("dra-guest-agent", &["docs/agent.md", "docs/numa.md"]),
    ("dra-cdi-hook", &["docs/hook.md"]),
    (
        "dra-guest-relay",
        &[
            "docs/relay.md",
            "docs/relay-operations.md",
            "docs/annotation.md",
        ],
    ),
    ("dra-guest-nri", &["docs/nri.md"]),
];

/// The options of a program, and those of each of its commands.
struct Face {
    own: BTreeSet<String>,
    commands: BTreeMap<String, BTreeSet<String>>,
}

impl Face {
    fn of(program: &str) -> Self {
        let path = static_program(program).unwrap();
        let help = |command: Option<&str>| {
            stdout_of(Command::new(&path).args(command).arg("--help")).unwrap()
        };
        let whole = help(None);
        let listed = whole
            .lines()
            .skip_while(|line| !["Commands:", "Instead of running:"].contains(line))
            .skip(1)
            .take_while(|line| !line.is_empty());
        let names = listed
            .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
            .filter(|name| !["", "help"].contains(name));
        let commands = names.map(|name| (name.to_owned(), options(&help(Some(name)))));
        Self {
            own: options(&whole),
            commands: commands.collect(),
        }
    }
}

/// The long options that a help shows, each at the start of a line.
fn options(help: &str) -> BTreeSet<String> {
    let of_line = |line: &str| {
        // Further in, and not indented at all, is prose.
        let line = line
            .strip_prefix("      ")
            .or_else(|| line.strip_prefix("  "))?;
        // "-h, --help"
        let line = match line.split_once(", ") {
            Some((short, long)) if short.len() == 2 => long,
            _ => line,
        };
        let name = line.split(' ').next().unwrap_or_default();
        name.starts_with("--").then(|| name.to_owned())
    };
    help.lines().filter_map(of_line).collect()
}

fn faces() -> Vec<Face> {
    let faces: Vec<Face> = PROGRAMS.iter().map(|(name, _)| Face::of(name)).collect();
    assert!(faces.iter().all(|face| !face.commands.is_empty()));
    faces
}

/// The lines of fenced blocks, those that go on joined, and what stands between backticks.
fn command_lines(document: &Document) -> Vec<String> {
    let fenced = document.fenced.replace("\\\n", " ");
    let mut lines: Vec<String> = fenced.lines().map(str::to_owned).collect();
    lines.extend(document.code_spans());
    lines
}

/// A program that a line runs, with the words behind it: as far as they are its own.
fn run_by(line: &str) -> Option<(usize, Vec<&str>)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_start =
        |place: usize| place == 0 || ["#", "$", "--", "&&", "exec"].contains(&words[place - 1]);
    let place = (0..words.len()).find(|&place| {
        let name = words[place].rsplit('/').next();
        is_start(place) && PROGRAMS.iter().any(|(program, ..)| name == Some(program))
    })?;
    let name = words[place].rsplit('/').next();
    let program = PROGRAMS.iter().position(|(it, ..)| name == Some(it))?;
    let end = ["|", ">", "&", "&&", "--"];
    let own = words[place + 1..]
        .iter()
        .copied()
        .take_while(|word| !end.contains(word));
    Some((program, own.collect()))
}

#[test]
fn every_command_line_has_options_that_there_are() {
    let faces = faces();
    let mut faults = Vec::new();
    let mut seen = 0;
    for document in documents() {
        for line in command_lines(&document) {
            let Some((program, words)) = run_by(&line) else {
                continue;
            };
            let face = &faces[program];
            let of_command = words.iter().find_map(|word| face.commands.get(*word));
            for word in words.iter().filter(|word| word.starts_with("--")) {
                seen += 1;
                let option = word.split('=').next().unwrap();
                let is_of_command = of_command.is_some_and(|options| options.contains(option));
                if !is_of_command && !face.own.contains(option) {
                    faults.push(format!("{}: {line}: {option}", document.name()));
                }
            }
        }
    }
    assert!(seen > 30, "{seen} options");
    assert!(
        faults.is_empty(),
        "there are no such options:\n{}",
        faults.join("\n")
    );
}

#[test]
fn every_command_and_option_is_documented() {
    let documents = documents();
    let mut faults = Vec::new();
    for ((program, names), face) in PROGRAMS.into_iter().zip(faces()) {
        let texts: Vec<String> = documents
            .iter()
            .filter(|document| names.contains(&document.name()))
            .map(|document| format!("{}{}", document.prose, document.fenced))
            .collect();
        assert_eq!(texts.len(), names.len(), "{names:?}");
        let options = face.commands.values().flatten().chain(&face.own);
        let words: BTreeSet<&String> = face.commands.keys().chain(options).collect();
        for word in words {
            // Of its own: `--log` is not in `--log-level`.
            let is_there = texts.iter().any(|text| {
                let mut parts = text.split(word.as_str()).skip(1);
                parts.any(|rest| !rest.starts_with(|c: char| c == '-' || c.is_ascii_lowercase()))
            });
            let is_of_all = ["--help", "--version"].contains(&word.as_str());
            if !is_there && !is_of_all {
                faults.push(format!("{program}: {word} is in none of {names:?}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
