//! The man pages: which there are, what is in them, and that `groff` finds no fault with them.

use std::fs;
use std::path::Path;
use std::process::Command;

use dra_guest_tests::command::stdout_of;

use super::{PROGRAMS, files, subcommands, unpacked};

const PAGES: &str = "usr/share/man/man8";

fn page(tree: &Path, name: &str) -> String {
    let file = tree.join(PAGES).join(format!("{name}.8.gz"));
    stdout_of(Command::new("gzip").arg("-dc").arg(file)).unwrap()
}

#[test]
fn each_program_and_each_subcommand_has_a_page() {
    for (package, program) in PROGRAMS {
        let tree = unpacked(package);
        let whole = page(tree.path(), program);
        assert!(whole.contains(&format!(".TH {program} 8")), "{whole}");
        for subcommand in subcommands(tree.path(), program) {
            let name = format!("{program}-{subcommand}");
            let text = page(tree.path(), &name);
            assert!(text.contains(&format!(".TH {name} 8")), "{text}");
            // Which the program's own page names.
            let named = name.replace('-', "\\-");
            assert!(whole.contains(&named), "{program}(8) does not name {name}");
        }
    }
}

#[test]
fn the_pages_have_the_options() {
    for (package, name, option) in [
        ("dra-guest-agent", "dra-guest-agent-apply", "attributes"),
        (
            "dra-guest-node",
            "dra-cdi-hook-create-container",
            "vm-mount",
        ),
        ("dra-guest-node", "dra-guest-nri", "socket"),
        ("dra-guest-node", "dra-guest-relay", "node-name"),
    ] {
        let text = page(unpacked(package).path(), name);
        let written = format!("\\-\\-{}", option.replace('-', "\\-"));
        assert!(text.contains(&written), "{name}: no {written}: {text}");
    }
}

#[test]
fn the_pages_are_without_fault() {
    for package in ["dra-guest-agent", "dra-guest-node"] {
        let tree = unpacked(package);
        let pages = files(&tree.path().join(PAGES));
        assert!(!pages.is_empty());
        for page in pages {
            let script = "gzip -dc \"$1\" | groff -Kutf8 -man -Tutf8 -ww -z";
            let output = Command::new("sh")
                .args(["-c", script, "sh"])
                .arg(tree.path().join(PAGES).join(&page))
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && said.is_empty(), "{page}: {said}");
        }
    }
}

/// `systemctl help UNIT` opens what `Documentation=` names. (`systemd-analyze verify` would ask man for it, which a
/// minimal root does not have.)
#[test]
fn each_unit_names_a_page_of_its_package() {
    for package in ["dra-guest-agent", "dra-guest-node"] {
        let tree = unpacked(package);
        let units = tree.path().join("usr/lib/systemd/system");
        for unit in files(&units) {
            let text = fs::read_to_string(units.join(&unit)).unwrap();
            let pages: Vec<&str> = text
                .lines()
                .filter_map(|line| line.strip_prefix("Documentation=man:"))
                .collect();
            assert!(!pages.is_empty(), "{unit} names no page");
            for named in pages {
                page(tree.path(), named.trim_end_matches("(8)"));
            }
        }
    }
}
