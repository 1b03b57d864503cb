//! `dra-guest-agent`; the program is in the library beside this file.

use std::process::ExitCode;

/// musl's own allocator asks the kernel for every few objects: half of a short run's system calls.
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    dra_guest_agent::main()
}
