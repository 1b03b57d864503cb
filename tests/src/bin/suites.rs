//! Runs every test of the workspace, some test programs at a time.

use std::process::ExitCode;

fn main() -> ExitCode {
    match dra_guest_tests::side_by_side::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
