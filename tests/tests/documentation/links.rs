//! Links within the tree, and the headings that they lead to.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use dra_guest_tests::programs::workspace;

use super::{Document, documents};

/// The anchors of a document's headings, as GitHub makes them.
fn anchors(document: &Document) -> BTreeSet<String> {
    let headings = document.prose.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let words = line.trim_start_matches('#').trim().to_lowercase();
            let kept = words
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

/// The targets of `[…](target)` that are no web pages.
fn links(document: &Document) -> impl Iterator<Item = &str> {
    let parts = document.prose.split("](").skip(1);
    parts
        .map(|part| part.split(')').next().unwrap())
        .filter(|target| !target.starts_with("https://"))
}

/// A path without `..`, as far as names alone tell.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir {
            plain.pop();
        } else {
            plain.push(part);
        }
    }
    plain
}

#[test]
fn every_link_leads_to_a_file_or_a_heading() {
    let documents = documents();
    let anchors: BTreeMap<&Path, BTreeSet<String>> = documents
        .iter()
        .map(|document| (document.path.as_path(), anchors(document)))
        .collect();
    let mut faults = Vec::new();
    let mut seen = 0;
    for document in &documents {
        for link in links(document) {
            seen += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() {
                document.path.clone()
            } else {
                plain(&document.path.parent().unwrap().join(file))
            };
            let known = anchors.get(target.as_path());
            if !workspace().join(&target).exists()
                || !anchor.is_empty() && !known.is_some_and(|known| known.contains(anchor))
            {
                faults.push(format!("{}: {link} leads nowhere", document.name()));
            }
        }
    }
    assert!(seen > 100, "{seen} links");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_document_is_reached_from_the_readme() {
    let documents = documents();
    let readme = documents
        .iter()
        .find(|it| it.name() == "README.md")
        .unwrap();
    for document in documents.iter().filter(|it| it.path.starts_with("docs")) {
        assert!(
            links(readme).any(|link| link == document.name()),
            "README.md does not name {}",
            document.name()
        );
    }
}
