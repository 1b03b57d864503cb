//! The hook under attack: its shipped binary, under real runtimes wherever a runtime can bring the
//! situation about, beside a canary that nothing may touch.
//!
//! Numbers in names are those of the cases in `docs/security.md`. Everything runs in a mount namespace
//! of this program's own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod case;
mod count;
mod deputy;
mod direct;
mod engines;
mod environment;
mod fuse;
mod input;
mod killed;
mod mounts;
mod privilege;
mod races;
mod resolution;
mod scene;
mod silent;
mod start;

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Trial};

/// Set in the program's own mount namespace.
const INSIDE: &str = "DRA_GUEST_TESTS_IN_NAMESPACE";

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    if !arguments.list && std::env::var_os(INSIDE).is_none() {
        let error = Command::new("unshare")
            .args(["--mount", "--propagation=private"])
            .arg(std::env::current_exe().unwrap())
            .args(std::env::args_os().skip(1))
            .env(INSIDE, "1")
            .exec();
        panic!("unshare (util-linux) cannot be started: {error}");
    }
    let mut trials = Vec::new();
    let classes = [
        ("resolution", resolution::CASES),
        ("mounts", mounts::CASES),
        ("deputy", deputy::CASES),
        ("environment", environment::CASES),
        ("input", input::CASES),
        ("privilege", privilege::CASES),
    ];
    for (class, cases) in classes {
        trials.extend(cases.iter().map(|case| case.trial(class)));
    }
    let cases: Vec<_> = classes.iter().flat_map(|(_, cases)| *cases).collect();
    trials.extend(engines::trials(&cases));
    for (class, checks) in [
        ("races", races::CHECKS),
        ("environment", environment::CHECKS),
        ("input", input::CHECKS),
        ("mounts", mounts::CHECKS),
        ("killed", killed::CHECKS),
        ("silent", silent::CHECKS),
    ] {
        trials.extend(checks.iter().map(|(name, check)| {
            let check = *check;
            Trial::test(format!("{class}::{name}"), move || {
                check();
                Ok(())
            })
        }));
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    println!("{}", count::summary());
    conclusion.exit_code()
}
