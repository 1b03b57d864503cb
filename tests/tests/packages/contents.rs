//! What is in the packages, and that the same sources give the same bytes.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use dra_guest_tests::command::stdout_of;
use dra_guest_tests::packages::{Packages, target};
use dra_guest_tests::programs::{target_directory, workspace};
use serde_json::Value;

use super::{PROGRAMS, VERSION, files, packages, unpacked};

/// The most bytes that a package's files take, installed.
const INSTALLED: [(&str, u64); 2] = [
    ("dra-guest-agent", 3_500_000),
    ("dra-guest-node", 11_500_000),
];

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
    for (package, program) in PROGRAMS {
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
