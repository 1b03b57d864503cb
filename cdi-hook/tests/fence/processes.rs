//! Attempts on processes: to start one, to look into one, and to undo what this one has been denied.

use crate::attempts::{Attempt, killed, refused};
use crate::raw::{call, text};

pub(crate) const ATTEMPTS: &[Attempt] = &[
    killed("a_program", |_| {
        call(libc::SYS_execve, [text("/bin/true"), 0, 0, 0, 0, 0]).map(drop)
    }),
    killed("a_program_by_descriptor", |_| {
        call(
            libc::SYS_execveat,
            [
                0,
                text(""),
                0,
                0,
                libc::c_long::from(libc::AT_EMPTY_PATH),
                0,
            ],
        )
        .map(drop)
    }),
    killed("a_process", |_| {
        call(
            libc::SYS_clone,
            [libc::c_long::from(libc::SIGCHLD), 0, 0, 0, 0, 0],
        )
        .map(drop)
    }),
    killed("a_process_of_the_newer_call", |_| {
        call(libc::SYS_clone3, [0; 6]).map(drop)
    }),
    killed("a_thread", |_| {
        std::thread::spawn(|| ()).join().unwrap();
        Ok(())
    }),
    #[cfg(target_arch = "x86_64")]
    killed("a_fork", |_| call(libc::SYS_fork, [0; 6]).map(drop)),
    #[cfg(target_arch = "x86_64")]
    killed("a_vfork", |_| call(libc::SYS_vfork, [0; 6]).map(drop)),
    killed("a_trace", |_| {
        call(libc::SYS_ptrace, [16, 1, 0, 0, 0, 0]).map(drop)
    }),
    killed("memory_of_another_process", |_| {
        call(libc::SYS_process_vm_readv, [1, 0, 0, 0, 0, 0]).map(drop)
    }),
    killed("memory_of_another_process_to_write", |_| {
        call(libc::SYS_process_vm_writev, [1, 0, 0, 0, 0, 0]).map(drop)
    }),
    killed("a_descriptor_of_another_process", |_| {
        call(libc::SYS_pidfd_getfd, [0, 0, 0, 0, 0, 0]).map(drop)
    }),
    killed("a_signal", |_| {
        call(libc::SYS_kill, [0, 0, 0, 0, 0, 0]).map(drop)
    }),
    killed("a_signal_to_a_thread", |_| {
        call(libc::SYS_tgkill, [1, 1, 9, 0, 0, 0]).map(drop)
    }),
    killed("a_terminal_taken_over", |_| {
        call(libc::SYS_setsid, [0; 6]).map(drop)
    }),
    killed("another_user", |_| {
        call(libc::SYS_setresuid, [0; 6]).map(drop)
    }),
    killed("other_groups", |_| {
        call(libc::SYS_setgroups, [0; 6]).map(drop)
    }),
    killed("capabilities", |_| call(libc::SYS_capset, [0; 6]).map(drop)),
    killed("a_setting_of_the_process", |_| {
        call(
            libc::SYS_prctl,
            [libc::c_long::from(libc::PR_SET_DUMPABLE), 1, 0, 0, 0, 0],
        )
        .map(drop)
    }),
    killed("a_limit", |_| call(libc::SYS_prlimit64, [0; 6]).map(drop)),
    killed("a_second_filter", |_| {
        call(libc::SYS_seccomp, [1, 0, 0, 0, 0, 0]).map(drop)
    }),
    killed("a_timer_stopped", |_| {
        call(libc::SYS_timer_settime, [0; 6]).map(drop)
    }),
    killed("a_timer_removed", |_| {
        call(libc::SYS_timer_delete, [0; 6]).map(drop)
    }),
    killed("a_handler", |_| {
        call(libc::SYS_rt_sigaction, [0; 6]).map(drop)
    }),
    killed("code_in_memory", |_| {
        call(
            libc::SYS_mmap,
            [
                0,
                4096,
                7,
                libc::c_long::from(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS),
                -1,
                0,
            ],
        )
        .map(drop)
    }),
    killed("a_file_in_memory_as_code", |_| {
        call(
            libc::SYS_mmap,
            [0, 4096, 5, libc::c_long::from(libc::MAP_PRIVATE), 0, 0],
        )
        .map(drop)
    }),
    killed("memory_that_is_shared", |_| {
        call(
            libc::SYS_mmap,
            [
                0,
                4096,
                3,
                libc::c_long::from(libc::MAP_SHARED | libc::MAP_ANONYMOUS),
                -1,
                0,
            ],
        )
        .map(drop)
    }),
    killed("memory_made_code", |_| {
        call(libc::SYS_mprotect, [0, 0, 4, 0, 0, 0]).map(drop)
    }),
    killed("memory_made_code_by_key", |_| {
        call(libc::SYS_pkey_mprotect, [0, 0, 4, 0, 0, 0]).map(drop)
    }),
    killed("a_file_in_memory", |_| {
        call(libc::SYS_memfd_create, [text("x"), 0, 0, 0, 0, 0]).map(drop)
    }),
    refused("more_memory_than_it_needs", libc::ENOMEM, |_| {
        let anonymous = libc::c_long::from(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        call(libc::SYS_mmap, [0, 1 << 30, 3, anonymous, -1, 0]).map(drop)
    }),
    killed("a_call_that_no_kernel_has", |_| {
        call(9999, [0; 6]).map(drop)
    }),
    #[cfg(target_arch = "x86_64")]
    killed("a_call_of_x32", |_| {
        // getpid, by its number there: harmless, were it allowed.
        call(0x4000_0000 | libc::SYS_getpid, [0; 6]).map(drop)
    }),
    #[cfg(target_arch = "x86_64")]
    killed("a_call_of_32_bit_programs", |_| {
        // 3 is read there, which the list has as 0.
        crate::raw::call_32_bit(3);
        Ok(())
    }),
];
