//! What a program is linked from: cargo's own answer for that package and target.
//!
//! `cargo tree --package` resolves features for the one package; `cargo metadata`, and every tool that is built on
//! it, does so for the whole workspace, and would count what only tests use. So the tree says which crates and how they
//! depend on one another, and the metadata what they are.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use cargo_metadata::{Metadata, Package};
use serde::Deserialize;

/// A crate, by name and version.
pub(crate) type Key = (String, String);

/// The crates that a program is linked from, itself included.
pub(crate) struct Parts<'a> {
    /// The program's own.
    pub(crate) root: Key,
    /// Each crate, and those that it depends on.
    pub(crate) dependencies: BTreeMap<Key, BTreeSet<Key>>,
    /// What they are.
    pub(crate) packages: BTreeMap<Key, &'a Package>,
    /// The SHA-256 of those that come from a registry, in hexadecimal digits.
    pub(crate) checksums: BTreeMap<Key, String>,
}

/// What is the same for all programs.
pub(crate) struct Workspace {
    metadata: Metadata,
    checksums: BTreeMap<Key, String>,
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<LockedPackage>,
}

#[derive(Deserialize)]
struct LockedPackage {
    name: String,
    version: String,
    checksum: Option<String>,
}

impl Workspace {
    /// Asks cargo, in the working directory.
    pub(crate) fn read() -> Result<Self> {
        let metadata = cargo_metadata::MetadataCommand::new()
            .other_options(vec!["--locked".to_owned()])
            .exec()?;
        let path = metadata.workspace_root.join("Cargo.lock");
        let text = std::fs::read_to_string(&path).with_context(|| path.to_string())?;
        let lock: Lock = toml::from_str(&text).with_context(|| path.to_string())?;
        let checksums = lock
            .package
            .into_iter()
            .filter_map(|it| Some(((it.name, it.version), it.checksum?)))
            .collect();
        Ok(Self {
            metadata,
            checksums,
        })
    }

    /// What a program is linked from for a target.
    pub(crate) fn parts_of(&self, program: &str, target: &str) -> Result<Parts<'_>> {
        let (root, dependencies) = tree(program, target)?;
        let mut packages = BTreeMap::new();
        for package in &self.metadata.packages {
            let key = (package.name.to_string(), package.version.to_string());
            if dependencies.contains_key(&key) {
                packages.insert(key, package);
            }
        }
        let checksums = self
            .checksums
            .iter()
            .filter(|(key, _)| dependencies.contains_key(*key))
            .map(|(key, sum)| (key.clone(), sum.clone()))
            .collect();
        if let Some((name, version)) = dependencies.keys().find(|key| !packages.contains_key(*key))
        {
            bail!("cargo metadata does not know {name} {version}, which cargo tree lists");
        }
        Ok(Parts {
            root,
            dependencies,
            packages,
            checksums,
        })
    }
}

fn tree(program: &str, target: &str) -> Result<(Key, BTreeMap<Key, BTreeSet<Key>>)> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "--locked", "--prefix=depth", "--format={p}"])
        .args(["--edges=normal,no-proc-macro", "--package", program])
        .args(["--target", target])
        .output()
        .context("cargo cannot be started")?;
    if !output.status.success() {
        bail!("cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    }
    let text = String::from_utf8(output.stdout).context("what cargo tree prints")?;
    parse(&text)
}

/// Each line is `DEPTHname vVERSION`, and maybe more in parentheses; what is below a crate is printed once.
fn parse(text: &str) -> Result<(Key, BTreeMap<Key, BTreeSet<Key>>)> {
    let mut dependencies: BTreeMap<Key, BTreeSet<Key>> = BTreeMap::new();
    let mut above: Vec<Key> = Vec::new();
    for line in text.lines() {
        let (depth, key) =
            line_of(line).with_context(|| format!("cargo tree prints a line `{line}`"))?;
        above.truncate(depth);
        if let Some(parent) = above.last() {
            dependencies
                .entry(parent.clone())
                .or_default()
                .insert(key.clone());
        }
        dependencies.entry(key.clone()).or_default();
        above.push(key);
    }
    let root = above.into_iter().next();
    Ok((root.context("cargo tree prints nothing")?, dependencies))
}

fn line_of(line: &str) -> Option<(usize, Key)> {
    // No crate's name begins with a digit.
    let digits = line.find(|letter: char| !letter.is_ascii_digit())?;
    let (depth, rest) = line.split_at_checked(digits)?;
    let mut words = rest.split_whitespace();
    let name = words.next()?.to_owned();
    let version = words.next()?.strip_prefix('v')?.to_owned();
    Some((depth.parse().ok()?, (name, version)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        (name.to_owned(), "1.0.0".to_owned())
    }

    #[test]
    fn a_tree_says_who_depends_on_whom() {
        let text = "0a v1.0.0 (/x)\n1b v1.0.0\n2c v1.0.0\n1c v1.0.0 (*)\n";
        let (root, dependencies) = parse(text).unwrap();
        assert_eq!(root, key("a"));
        assert_eq!(
            dependencies,
            BTreeMap::from([
                (key("a"), BTreeSet::from([key("b"), key("c")])),
                (key("b"), BTreeSet::from([key("c")])),
                (key("c"), BTreeSet::new()),
            ])
        );
    }

    #[test]
    fn what_is_no_tree_is_an_error() {
        for text in ["", "a v1.0.0", "0a", "0a 1.0.0", "12"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
