//! What is in the packages, and that the same sources give the same bytes.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use dra_guest_tests::command::stdout_of;
use dra_guest_tests::packages::{Packages, target};
use dra_guest_tests::programs::{target_directory, workspace};
use serde_json::Value;
use tempfile::TempDir;

use super::{VERSION, packages};

/// The most bytes that a package's files take, installed.
const INSTALLED: [(&str, u64); 2] = [
    ("dra-guest-agent", 3_500_000),
    ("dra-guest-node", 11_500_000),
];

fn unpacked(name: &str) -> TempDir {
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

fn files(tree: &Path) -> Vec<String> {
    let listed = stdout_of(
        Command::new("find")
            .arg(tree)
            .args(["-type", "f", "-printf", "%P\n"]),
    );
    listed.unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn packed_twice_they_are_the_same_bytes() {
    let again = Packages::build(VERSION).unwrap();
    for (first, second) in packages().all().unwrap().iter().zip(again.all().unwrap()) {
        assert_eq!(first.file_name(), second.file_name());
        assert!(
            fs::read(first).unwrap() == fs::read(second).unwrap(),
            "{}",
            first.display()
        );
    }
}

/// Also where it is later than the files' own, as that of a commit is than those of a checkout before it.
#[test]
fn each_file_has_the_time_of_the_sources() {
    let later = "4102488000";
    let packages = Packages::build_agent_at(later, VERSION).unwrap();
    let times = stdout_of(
        Command::new("rpm")
            .args(["--query", "--queryformat=[%{FILEMTIMES}\n]", "--package"])
            .arg(packages.rpm("dra-guest-agent").unwrap()),
    )
    .unwrap();
    assert!(times.lines().all(|time| time == later), "{times}");
    let listed = stdout_of(
        Command::new("dpkg-deb")
            .arg("--contents")
            .arg(packages.deb("dra-guest-agent").unwrap()),
    )
    .unwrap();
    assert!(
        listed.lines().all(|line| line.contains(" 2100-01-01 ")),
        "{listed}"
    );
}

#[test]
fn they_are_small() {
    for (name, most) in INSTALLED {
        let tree = unpacked(name);
        let bytes: u64 = files(tree.path())
            .iter()
            .map(|file| fs::metadata(tree.path().join(file)).unwrap().len())
            .sum();
        let packed = fs::metadata(packages().deb(name).unwrap()).unwrap().len();
        println!("{name}: {packed} bytes, installed {bytes}");
        assert!(bytes <= most, "{name}: {bytes}");
    }
}

/// Else another directory would give other bytes, and the packages would tell of the machine that built them.
#[test]
fn no_program_names_the_directory_that_it_was_built_in() {
    let directories = [workspace(), target_directory().unwrap()];
    for package in ["dra-guest-agent", "dra-guest-node"] {
        let tree = unpacked(package);
        let programs = tree.path().join("usr/bin");
        for program in files(&programs) {
            let bytes = fs::read(programs.join(&program)).unwrap();
            for directory in &directories {
                let name = directory.as_os_str().as_encoded_bytes();
                let found = bytes.windows(name.len()).any(|part| part == name);
                assert!(!found, "{program} names {}", directory.display());
            }
        }
    }
}

/// A page and a completion for each program, and for each subcommand a page.
#[test]
fn each_program_has_pages_and_completions_that_know_its_options() {
    for (package, program, option) in [
        ("dra-guest-agent", "dra-guest-agent", "--attributes"),
        ("dra-guest-node", "dra-cdi-hook", "--vm-mount"),
        ("dra-guest-node", "dra-guest-nri", "--socket"),
        ("dra-guest-node", "dra-guest-relay", "--node-name"),
    ] {
        let tree = unpacked(package);
        for shell in [
            format!("usr/share/bash-completion/completions/{program}"),
            format!("usr/share/zsh/vendor-completions/_{program}"),
            format!("usr/share/fish/vendor_completions.d/{program}.fish"),
        ] {
            let text = fs::read_to_string(tree.path().join(&shell)).unwrap();
            assert!(text.contains(option.trim_start_matches('-')), "{shell}");
        }
        let page = tree
            .path()
            .join(format!("usr/share/man/man8/{program}.8.gz"));
        let text = stdout_of(Command::new("gzip").arg("-dc").arg(&page)).unwrap();
        assert!(text.contains(".TH"), "{text}");
    }
}

#[test]
fn the_pages_are_without_fault() {
    for package in ["dra-guest-agent", "dra-guest-node"] {
        let tree = unpacked(package);
        let pages: Vec<_> = files(tree.path())
            .into_iter()
            .filter(|file| file.contains("/man8/"))
            .collect();
        assert!(!pages.is_empty());
        for page in pages {
            let script = "gzip -dc \"$1\" | groff -Kutf8 -man -Tutf8 -ww -z";
            let output = Command::new("sh")
                .args(["-c", script, "sh"])
                .arg(tree.path().join(&page))
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && said.is_empty(), "{page}: {said}");
        }
    }
}

/// Bash takes the completion, and completes with it.
#[test]
fn bash_completes_a_subcommand() {
    let tree = unpacked("dra-guest-agent");
    let completion = tree
        .path()
        .join("usr/share/bash-completion/completions/dra-guest-agent");
    // The function is the one that the script registers for the program.
    let script = "source \"$1\"; read -ra registered < <(complete -p dra-guest-agent); \
                  while [ \"${registered[0]}\" != -F ]; do registered=(\"${registered[@]:1}\"); done; \
                  COMP_WORDS=(dra-guest-agent sta); COMP_CWORD=1; \
                  \"${registered[1]}\" dra-guest-agent sta dra-guest-agent; echo \"${COMPREPLY[@]}\"";
    let output = stdout_of(
        Command::new("bash")
            .args(["--norc", "-c", script, "bash"])
            .arg(completion),
    )
    .unwrap();
    assert_eq!(output.trim(), "status");
}

/// What a shell completes `dra-guest-agent sta` with, the package's file being where the shell looks for it.
fn completed(shell: &str, file: &str, script: &str) -> String {
    let tree = unpacked("dra-guest-agent");
    let mut command = Command::new(shell);
    // zsh notes what it has found in the home directory.
    command.env("HOME", tree.path()).current_dir(tree.path());
    let output = stdout_of(command.args(["-c", script]).env("FILE", file));
    output.unwrap()
}

#[test]
fn fish_completes_a_subcommand() {
    let file = "usr/share/fish/vendor_completions.d/dra-guest-agent.fish";
    let script = "source $FILE; complete -C 'dra-guest-agent sta'";
    let output = completed("fish", file, script);
    assert!(output.starts_with("status\t"), "{output}");
}

/// zsh completes at a terminal alone, so one is made for it.
#[test]
fn zsh_completes_a_subcommand() {
    let script = r#"
        zmodload zsh/zpty
        zpty shell zsh -f -i
        said() { local all=; while zpty -r -m shell part "*$1*"; do all+=$part; [[ $all != *$1* ]] || break; done; print -r -- $all }
        zpty -w shell "PS1=; fpath=(${FILE:h} \$fpath); autoload -U compinit; compinit -D -u; print rea''dy"
        said ready >/dev/null
        zpty -w -n shell $'dra-guest-agent stat\t\C-aprint -r -- "got:" \n'
        said "got: dra""#;
    let file = "usr/share/zsh/vendor-completions/_dra-guest-agent";
    let output = completed("zsh", file, script);
    assert!(output.contains("dra-guest-agent status"), "{output}");
}

/// The crates that cargo links into a program, itself left out.
fn linked(program: &str) -> BTreeSet<String> {
    let tree = stdout_of(
        Command::new(env!("CARGO"))
            .current_dir(workspace())
            .args([
                "tree",
                "--locked",
                "--prefix=none",
                "--no-dedupe",
                "--format={p}",
            ])
            .args(["--edges=normal,no-proc-macro", "--package", program])
            .args(["--target", &target()]),
    )
    .unwrap();
    let names = tree.lines().filter_map(|line| line.split(' ').next());
    names
        .filter(|name| *name != program)
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_bill_of_materials_and_the_licences_have_every_part() {
    for (package, program) in [
        ("dra-guest-agent", "dra-guest-agent"),
        ("dra-guest-node", "dra-cdi-hook"),
        ("dra-guest-node", "dra-guest-nri"),
        ("dra-guest-node", "dra-guest-relay"),
    ] {
        let tree = unpacked(package);
        let directory = tree.path().join("usr/share/doc").join(package);
        let text = fs::read_to_string(directory.join(format!("{program}.cdx.json"))).unwrap();
        let bill: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(bill.pointer("/metadata/component/name").unwrap(), program);
        let components = bill.get("components").unwrap().as_array().unwrap();
        let name = |component: &Value| component["name"].as_str().unwrap().to_owned();
        let listed: BTreeSet<String> = components.iter().map(name).collect();
        let mut expected = linked(program);
        expected.extend(["musl".to_owned(), "rust-std".to_owned()]);
        assert_eq!(listed, expected, "{program}");
        let references: BTreeSet<&str> = components
            .iter()
            .map(|component| component["bom-ref"].as_str().unwrap())
            .collect();
        for dependency in bill.get("dependencies").unwrap().as_array().unwrap() {
            for on in dependency["dependsOn"].as_array().unwrap() {
                assert!(references.contains(on.as_str().unwrap()), "{on}");
            }
        }

        let licences = fs::read_to_string(directory.join("copyright")).unwrap();
        for name in expected.iter().filter(|name| *name != "rust-std") {
            assert!(licences.contains(name.as_str()), "{program}: {name}");
        }
        for sentence in ["Apache License", "Permission is hereby granted"] {
            assert!(licences.contains(sentence), "{sentence}");
        }
    }
}
