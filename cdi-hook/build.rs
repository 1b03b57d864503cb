//! Leaves the tables for unwinding out of the shipped binary: an eighth of it, and of no use to a program
//! that aborts on panic and prints no backtrace.

use std::env;

fn main() {
    const SCRIPT: &str = "without-unwind-tables.ld";
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={SCRIPT}");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    // The release profile aborts on panic. The linker of the static targets is LLD, whose scripts can add to its own layout.
    if is("PROFILE", "release") && is("CARGO_CFG_TARGET_ENV", "musl") {
        let directory = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
        println!("cargo::rustc-link-arg-bins=--no-eh-frame-hdr");
        println!("cargo::rustc-link-arg-bins=-T{directory}/{SCRIPT}");
    }
}
