//! The packages: what is in them, and what they do to a Debian when they come, change and go.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod completions;
mod contents;
mod debian;
mod pages;
mod rpm;
mod units;

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use dra_guest_tests::command::stdout_of;
use dra_guest_tests::packages::Packages;
use tempfile::TempDir;

/// The version that the suite installs, and the one that it upgrades to.
pub(crate) const VERSION: &str = "0.1.0";
const LATER: &str = "0.1.1";
/// Each program, and the package that it is in.
pub(crate) const PROGRAMS: [(&str, &str); 4] = [
    ("dra-guest-agent", "dra-guest-agent"),
    ("dra-guest-node", "dra-cdi-hook"),
    ("dra-guest-node", "dra-guest-nri"),
    ("dra-guest-node", "dra-guest-relay"),
];

/// The packages of the first version, built once for all tests.
pub(crate) fn packages() -> &'static Packages {
    static BUILT: OnceLock<Packages> = OnceLock::new();
    BUILT.get_or_init(|| Packages::build(VERSION).unwrap())
}

/// The packages of the later version.
pub(crate) fn later_packages() -> &'static Packages {
    static BUILT: OnceLock<Packages> = OnceLock::new();
    BUILT.get_or_init(|| {
        // Both are packed from one directory of the target.
        packages();
        Packages::build(LATER).unwrap()
    })
}

/// What the Debian package of that name lays out.
pub(crate) fn unpacked(name: &str) -> TempDir {
    let tree = tempfile::tempdir().unwrap();
    stdout_of(
        Command::new("dpkg-deb")
            .arg("--extract")
            .arg(packages().deb(name).unwrap())
            .arg(tree.path()),
    )
    .unwrap();
    tree
}

/// The files below a directory, by their paths from there.
pub(crate) fn files(tree: &Path) -> Vec<String> {
    let listed = stdout_of(
        Command::new("find")
            .arg(tree)
            .args(["-type", "f", "-printf", "%P\n"]),
    );
    listed.unwrap().lines().map(str::to_owned).collect()
}

/// The subcommands of a program in such a tree, by its own help.
pub(crate) fn subcommands(tree: &Path, program: &str) -> Vec<String> {
    let help = stdout_of(Command::new(tree.join("usr/bin").join(program)).arg("--help")).unwrap();
    let listed = help
        .lines()
        .skip_while(|line| !["Commands:", "Instead of running:"].contains(line))
        .skip(1)
        .take_while(|line| !line.is_empty());
    let names: Vec<String> = listed
        .filter_map(|line| {
            line.strip_prefix("  ")
                .filter(|line| !line.starts_with(' '))
        })
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect();
    assert!(!names.is_empty(), "{program} lists no subcommand: {help}");
    names
}
