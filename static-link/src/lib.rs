//! How the static release programs are linked: for the build scripts of those that have to be small.
//!
//! They abort on panic and print no backtrace. So the tables for unwinding, an eighth of a program, and
//! the library that reads them serve nothing.

use std::path::Path;
use std::{env, fs, io};

/// The linker script that discards the tables.
const SCRIPT: &str = include_str!("../without-unwind-tables.ld");

/// What Rust's standard library calls of the unwinding library.
const UNWINDING: [&str; 12] = [
    "Backtrace",
    "DeleteException",
    "FindEnclosingFunction",
    "GetCFA",
    "GetDataRelBase",
    "GetIP",
    "GetIPInfo",
    "GetLanguageSpecificData",
    "GetRegionStart",
    "GetTextRelBase",
    "RaiseException",
    "Resume",
];

/// Tells cargo to leave unwinding out of a release program for a static target; for anything else nothing.
///
/// Only LLD, the linker of these targets here, takes a script that adds to its own layout. It is written to cargo's
/// `OUT_DIR`: a target directory may outlive the tree that it was filled from.
///
/// # Errors
/// When the script cannot be written, or cargo did not say where.
pub fn leave_out_unwinding() -> io::Result<()> {
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    // The release profile aborts on panic, the others do not.
    if !(is("PROFILE", "release") && is("CARGO_CFG_TARGET_ENV", "musl")) {
        return Ok(());
    }
    let out = env::var_os("OUT_DIR")
        .ok_or_else(|| io::Error::other("OUT_DIR is not set: cargo sets it for build scripts"))?;
    let script = Path::new(&out).join("without-unwind-tables.ld");
    fs::write(&script, SCRIPT)?;
    let argument = |argument: &str| println!("cargo::rustc-link-arg-bins={argument}");
    argument("--no-eh-frame-hdr");
    argument(&format!("-T{}", script.display()));
    for function in UNWINDING {
        argument(&format!("--defsym=_Unwind_{function}=abort"));
    }
    for register in ["GR", "IP"] {
        argument(&format!("--defsym=_Unwind_Set{register}=abort"));
    }
    Ok(())
}
