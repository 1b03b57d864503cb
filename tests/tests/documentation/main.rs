//! What the documentation says and the tree can tell: that links lead somewhere, that tests which are named are
//! there, and that command lines have the options that the programs have.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod command_lines;
mod links;
mod named_tests;

use std::fs;
use std::path::PathBuf;

use dra_guest_tests::programs::workspace;

/// A Markdown file, with its text inside and outside of fenced blocks.
pub(crate) struct Document {
    /// Where it is in the workspace.
    pub(crate) path: PathBuf,
    pub(crate) fenced: String,
    pub(crate) prose: String,
}

impl Document {
    fn read(path: PathBuf) -> Self {
        let text = fs::read_to_string(workspace().join(&path)).unwrap();
        let (mut fenced, mut prose) = (String::new(), String::new());
        let mut inside = false;
        for line in text.lines() {
            // A fence may begin an item of a list.
            let mark = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | ' ');
            if line.trim_start_matches(mark).starts_with("```") {
                inside = !inside;
                continue;
            }
            let part = if inside { &mut fenced } else { &mut prose };
            part.push_str(line);
            part.push('\n');
        }
        assert!(!inside, "{}: a block does not end", path.display());
        Self {
            path,
            fenced,
            prose,
        }
    }

    pub(crate) fn name(&self) -> &str {
        self.path.to_str().unwrap()
    }

    /// What stands between backticks, on one line each.
    pub(crate) fn code_spans(&self) -> Vec<String> {
        let prose = self.prose.replace('\n', " ");
        let spans = prose.split('`').skip(1).step_by(2);
        spans.map(str::to_owned).collect()
    }
}

/// Those of the root and of `docs/`.
pub(crate) fn documents() -> Vec<Document> {
    let mut found = Vec::new();
    for directory in ["", "docs"] {
        for entry in fs::read_dir(workspace().join(directory)).unwrap() {
            let path = PathBuf::from(directory).join(entry.unwrap().file_name());
            if path.extension().is_some_and(|ending| ending == "md") {
                found.push(Document::read(path));
            }
        }
    }
    assert!(found.len() > 15, "documents are missing");
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}
