//! Whether `ifupdown` configures an interface: whether `interfaces(5)` has a stanza for its name.

use std::path::{Path, PathBuf};

use wildmatch::WildMatch;

use super::{Manager, Owner, text};
use crate::observe::Interface;

/// How deep files may name files, and how many of them are read.
const DEPTH: usize = 4;
const FILES: usize = 256;

/// A word of `interfaces(5)` that names interfaces.
#[derive(Debug)]
pub(super) struct Stanza {
    names: WildMatch,
    file: PathBuf,
}

/// The program, where a stanza names the interface as it is or as it is to be named.
pub(super) fn owner(
    stanzas: &[Stanza],
    interface: &Interface,
    wanted: Option<&str>,
) -> Option<Owner> {
    let alternative = interface.alternative_names.iter().map(String::as_str);
    let mut names = std::iter::once(interface.name.as_str())
        .chain(alternative)
        .chain(wanted);
    let stanza = names.find_map(|name| stanzas.iter().find(|stanza| stanza.names.matches(name)))?;
    Some(Owner {
        manager: Manager::Ifupdown,
        file: Some(stanza.file.clone()),
    })
}

/// Everything in `/etc/network/interfaces`, and in the files that it names, that names interfaces.
pub(super) fn stanzas(etc: &Path) -> Vec<Stanza> {
    let mut reader = Reader {
        stanzas: Vec::new(),
        left: FILES,
    };
    reader.file(&etc.join("network/interfaces"), DEPTH);
    reader.stanzas
}

struct Reader {
    stanzas: Vec<Stanza>,
    left: usize,
}

impl Reader {
    fn file(&mut self, path: &Path, depth: usize) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        let Some(text) = text(path) else { return };
        let directory = path.parent().unwrap_or(Path::new("/"));
        for line in text.lines() {
            let mut words = line.split_whitespace();
            match words.next() {
                Some("iface") => self.names(words.take(1), path),
                Some(word) if word == "auto" || word.starts_with("allow-") => {
                    self.names(words, path);
                }
                Some("source") if depth > 0 => {
                    words.for_each(|pattern| self.files(&directory.join(pattern), depth));
                }
                Some("source-directory") if depth > 0 => {
                    let all = |pattern| directory.join(pattern).join("*");
                    words.for_each(|pattern| self.files(&all(pattern), depth));
                }
                _ => {}
            }
        }
    }

    /// `auto` and `allow-…` take globs with `/` before them, to which `=` may add a stanza's name.
    fn names<'a>(&mut self, words: impl Iterator<Item = &'a str>, file: &Path) {
        let loopback = |word: &&str| *word != "lo";
        self.stanzas.extend(words.filter(loopback).map(|word| {
            let glob = word.strip_prefix('/').unwrap_or(word);
            Stanza {
                names: WildMatch::new(glob.split(['/', '=']).next().unwrap_or_default()),
                file: file.to_owned(),
            }
        }));
    }

    /// The files of one directory whose names fit the pattern's last part.
    fn files(&mut self, pattern: &Path, depth: usize) {
        let (Some(name), Some(directory)) = (pattern.file_name(), pattern.parent()) else {
            return;
        };
        let glob = WildMatch::new(&name.to_string_lossy());
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries
            .filter(|entry| glob.matches(&entry.file_name().to_string_lossy()))
            .map(|entry| entry.path())
            .collect();
        paths.sort();
        for path in paths {
            self.file(&path, depth - 1);
        }
    }
}
