//! `make test-aarch64`: the hook for aarch64, whose system calls have other numbers and partly other names. Under user
//! emulation, where no fence is, and on an emulated machine whose kernel has seccomp and Landlock: each way
//! through a run, and every attempt to leave the fence. Slow, and so not among the tests of `make test`.

mod machine;
mod user;

use std::process::ExitCode;

use anyhow::Result;

const TARGET: &str = "aarch64-unknown-linux-musl";

fn main() -> ExitCode {
    for (name, check) in [
        (
            "the_hook_runs_under_user_emulation",
            user::commands as fn() -> Result<()>,
        ),
        ("the_hook_runs_behind_its_fence", machine::fence),
    ] {
        match check() {
            Ok(()) => println!("{name}: ok"),
            Err(error) => {
                println!("{name}: FAILED: {error:#}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
