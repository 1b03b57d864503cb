//! The licences of all parts, whole texts, each text once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use cargo_metadata::Package;

use crate::parts::Parts;
use crate::runtime::MUSL_LICENCE;

/// The project's own licence.
const APACHE: &str = include_str!("../../LICENSE");
/// How the files with licences in a crate's source begin, in lower case.
const BEGINNINGS: [&str; 5] = ["licen", "copying", "notice", "unlicense", "copyright"];

/// The text for the programs of one package.
pub(crate) fn of(parts: &[Parts<'_>]) -> Result<String> {
    let mut packages: BTreeMap<_, &Package> = BTreeMap::new();
    let mut own = BTreeSet::new();
    for parts in parts {
        for (key, package) in &parts.packages {
            if package.source.is_none() {
                own.insert(key.clone());
            } else {
                packages.insert(key.clone(), package);
            }
        }
    }
    let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut list = String::new();
    for ((name, version), package) in &packages {
        let licence = package.license.as_deref().unwrap_or("see its files");
        writeln!(list, "  {name} {version}: {licence}")?;
        for text in texts_of(package)? {
            let who = texts.entry(text).or_default();
            who.insert(format!("{name} {version}"));
        }
    }
    let who = texts.entry(tidy(MUSL_LICENCE)).or_default();
    who.insert("musl".to_owned());

    let names: Vec<&str> = own.iter().map(|(name, _)| name.as_str()).collect();
    let mut whole = format!(
        "Of the project dra-guest are {}, under this licence:\n\n{}\n\
         Linked into the programs are the following, each under its own licence; those texts are below.\n\n\
         {list}  musl: MIT\n  Rust's library: MIT OR Apache-2.0; what it is made of is in COPYRIGHT-library.html.gz\n",
        names.join(", "),
        tidy(APACHE)
    );
    for (text, who) in &texts {
        let who: Vec<&str> = who.iter().map(String::as_str).collect();
        write!(
            whole,
            "\n{}\nOf {}:\n\n{text}",
            "=".repeat(78),
            who.join(", ")
        )?;
    }
    Ok(whole)
}

fn texts_of(package: &Package) -> Result<Vec<String>> {
    let directory = package
        .manifest_path
        .parent()
        .context("a manifest is in a directory")?;
    let mut texts = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if is_licence(&path) {
            let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
            texts.push(tidy(&String::from_utf8_lossy(&bytes)));
        }
    }
    if !texts.is_empty() {
        return Ok(texts);
    }
    // A crate without a file. The text is the same for everyone where the licence is the project's.
    let licence = package.license.as_deref().unwrap_or_default();
    if licence.split([' ', '/']).any(|word| word == "Apache-2.0") {
        return Ok(vec![tidy(APACHE)]);
    }
    bail!(
        "{} {} has no file with its licence ({licence}) in {directory}: add the text to packaging/licences",
        package.name,
        package.version
    )
}

fn is_licence(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.to_lowercase();
    BEGINNINGS.iter().any(|begin| name.starts_with(begin)) && path.is_file()
}

/// Texts that differ in white space at their edges and line ends are one.
fn tidy(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
    let begin = lines.iter().position(|line| !line.is_empty()).unwrap_or(0);
    let mut text = lines.get(begin..).unwrap_or_default().join("\n");
    text.push('\n');
    text
}
