//! The packages for aarch64 beside those for this machine: the same files, another architecture.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use dra_guest_tests::command::stdout_of;
use dra_guest_tests::guest::AARCH64;
use dra_guest_tests::packages::{Packages, target};

/// `EM_AARCH64` (elf(5)), little-endian at byte 18.
const MACHINE: [u8; 2] = [183, 0];

pub(crate) fn same_but_for_the_architecture() -> Result<()> {
    let here = Packages::build("0.1.0")?;
    let there = Packages::build_for("0.1.0", AARCH64)?;
    for (name, programs) in [
        ("dra-guest-agent", &["dra-guest-agent"][..]),
        (
            "dra-guest-node",
            &["dra-cdi-hook", "dra-guest-nri", "dra-guest-relay"],
        ),
    ] {
        let (deb, rpm) = (there.deb(name)?, there.rpm(name)?);
        let field = |package: &Path, field: &str| {
            let mut query = Command::new("dpkg-deb");
            stdout_of(query.arg("--field").arg(package).arg(field))
        };
        let architecture = field(&deb, "Architecture")?;
        ensure!(architecture.trim() == "arm64", "{architecture}");
        ensure!(rpm_says(&rpm, "%{ARCH} %{OS}")? == "aarch64 linux");
        for (ours, theirs) in [
            (deb_files(&here.deb(name)?)?, deb_files(&deb)?),
            (rpm_files(&here.rpm(name)?)?, rpm_files(&rpm)?),
        ] {
            ensure!(ours == theirs, "{ours}\nis not\n{theirs}");
            ensure!(ours.contains("usr/bin/"), "{ours}");
        }
        for what in ["Depends", "Conffiles", "Description"] {
            let (ours, theirs) = (field(&here.deb(name)?, what)?, field(&deb, what)?);
            ensure!(ours == theirs, "{what}: {ours} is not {theirs}");
        }
        let tree = tempfile::tempdir()?;
        stdout_of(
            Command::new("dpkg-deb")
                .arg("--extract")
                .arg(&deb)
                .arg(tree.path()),
        )?;
        for program in programs {
            let bytes = std::fs::read(tree.path().join("usr/bin").join(program))?;
            ensure!(
                bytes.get(18..20) == Some(&MACHINE[..]),
                "{program} is no program of aarch64"
            );
        }
        let size = |path: &Path| std::fs::metadata(path).map(|file| file.len());
        println!(
            "  {name}: .deb {} bytes, .rpm {} bytes, installed {}",
            size(&deb)?,
            size(&rpm)?,
            rpm_says(&rpm, "%{SIZE}")?
        );
    }
    println!("  the others are for {}", target());
    Ok(())
}

fn rpm_says(package: &Path, format: &str) -> Result<String> {
    let query = format!("--queryformat={format}");
    stdout_of(
        Command::new("rpm")
            .args(["--query", &query, "--package"])
            .arg(package),
    )
}

fn rpm_files(package: &Path) -> Result<String> {
    rpm_says(
        package,
        "[%{FILEMODES:perms} %{FILEUSERNAME} %{FILENAMES}\n]",
    )
}

/// Modes, owners and names, without the sizes and times between them.
fn deb_files(package: &Path) -> Result<String> {
    let listed = stdout_of(Command::new("dpkg-deb").arg("--contents").arg(package))?;
    let lines = listed.lines().map(|line| {
        let mut words = line.split_whitespace();
        let (mode, owner) = (
            words.next().unwrap_or_default(),
            words.next().unwrap_or_default(),
        );
        format!("{mode} {owner} {}\n", words.last().unwrap_or_default())
    });
    Ok(lines.collect())
}
