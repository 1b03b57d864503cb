//! `make test-aarch64`: the programs for aarch64, whose system calls have other numbers and partly other names. Under
//! user emulation; on an emulated machine whose agent configures a virtio NIC and reports over vsock to the relay; on
//! one whose kernel has seccomp and Landlock, for the hook; and their packages. Slow, and so not among the tests of
//! `make test`. A word on the command line chooses checks by their names.

mod fence;
mod guest;
mod hook;
mod packages;

use std::process::ExitCode;

use dra_guest_tests::suite;

fn main() -> ExitCode {
    suite::run_each(&[
        ("the_programs_run_under_user_emulation", guest::programs),
        (
            "a_guest_configures_its_nic_and_reports",
            guest::configures_and_reports,
        ),
        ("the_hook_runs_under_user_emulation", hook::commands),
        ("the_hook_runs_behind_its_fence", fence::holds),
        (
            "the_packages_are_those_of_this_machine_but_for_the_architecture",
            packages::same_but_for_the_architecture,
        ),
    ])
}
