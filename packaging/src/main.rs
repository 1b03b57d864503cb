//! `package-files`: writes what the packages carry beside the programs.
//!
//! For each program man pages, completions and a bill of materials; for each package the licences of all its
//! parts. Everything follows from the sources: the same sources give the same bytes.

mod bill;
mod clap_command;
mod commands;
mod licences;
mod parts;
mod runtime;
mod shells;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Parser;

use commands::PROGRAMS;
use parts::{Parts, Workspace};
use runtime::Runtime;

/// The programs of each package, and the file for their licences.
const PACKAGES: [(&[&str], &str); 2] = [
    (&["dra-guest-agent"], "dra-guest-agent/copyright"),
    (
        &["dra-cdi-hook", "dra-guest-nri", "dra-guest-relay"],
        "node-copyright",
    ),
];

/// Writes man pages, completions, bills of materials and licences of the shipped programs
#[derive(Debug, Parser)]
struct Arguments {
    /// The target that the programs are built for, such as x86_64-unknown-linux-musl
    #[arg(long, value_name = "TRIPLE")]
    target: String,
    /// The directory to write into; what it has of another run is replaced
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match write_all(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("package-files: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn write_all(arguments: &Arguments) -> Result<()> {
    let out = &arguments.out;
    if out.exists() {
        fs::remove_dir_all(out).with_context(|| out.display().to_string())?;
    }
    let workspace = Workspace::read()?;
    let runtime = Runtime::of(&arguments.target)?;
    for program in PROGRAMS {
        let directory = out.join(program.name);
        fs::create_dir_all(&directory).with_context(|| directory.display().to_string())?;
        shells::write(program.name, &(program.command)(), &directory)?;
        let parts = workspace.parts_of(program.name, &arguments.target)?;
        let bill = bill::of(&parts, &arguments.target, &runtime);
        let mut text = serde_json::to_string_pretty(&bill)?;
        text.push('\n');
        fs::write(directory.join(format!("{}.cdx.json", program.name)), text)?;
    }
    for (programs, file) in PACKAGES {
        let parts = programs
            .iter()
            .map(|program| workspace.parts_of(program, &arguments.target))
            .collect::<Result<Vec<Parts<'_>>>>()?;
        fs::write(out.join(file), licences::of(&parts)?)?;
    }
    fs::write(
        out.join("COPYRIGHT-library.html"),
        runtime.library_licences()?,
    )?;
    Ok(())
}
