//! The system calls that a run needs, and none besides (seccomp).
//!
//! The program is static, so that this list belongs to one build of it and one C library; the
//! tests run every path under it. Whatever else is asked for ends the process: an answer like EPERM
//! would leave it running in a state that nobody wrote. The filter checks the architecture, and the
//! x32 numbers of x86-64 are none of its list. Time comes from the vDSO; where there is none,
//! `clock_gettime` is allowed. What a filter cannot see is what a pointer leads to: paths, and the
//! flags of `openat2`. Those are for [`super::Files`].

use libc::{
    O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_RDWR, O_TMPFILE, O_TRUNC, O_WRONLY, c_int, c_long,
};

use super::filter::{Check, assemble};

/// Those whose arguments are not looked at: they act on descriptors, on memory of the process, or
/// take rights away.
const ALWAYS: [c_long; 28] = [
    // The state, files and directories.
    libc::SYS_ppoll,
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_lseek,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_getdents64,
    libc::SYS_openat2,
    libc::SYS_fsync,
    libc::SYS_renameat,
    // Landlock, which can only take more away.
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_restrict_self,
    // Memory, of which `mmap` and `mprotect` are looked at below.
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    // Time, chance, who am I.
    libc::SYS_clock_gettime,
    libc::SYS_getrandom,
    libc::SYS_geteuid,
    // The end of a program, and a wait that a stop interrupted.
    libc::SYS_sigaltstack,
    libc::SYS_rt_sigreturn,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// What `openat` is told apart by. Not `O_ACCMODE`, of which `O_PATH` is a part in musl.
const OPEN: c_int = O_WRONLY
    | O_RDWR
    | O_CREAT
    | O_EXCL
    | O_TRUNC
    | O_APPEND
    | O_NOFOLLOW
    | (O_TMPFILE & !libc::O_DIRECTORY);
/// How a new file is made: one that is new for certain, and never through a link.
const CREATE: c_int = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
const ANONYMOUS: c_int = libc::MAP_ANONYMOUS | libc::MAP_PRIVATE;

/// Those that are allowed with certain arguments alone.
const CHECKED: [Check; 7] = [
    // Any file for reading.
    Check::new(libc::SYS_openat, 2, OPEN & !O_NOFOLLOW, 0),
    Check::new(libc::SYS_openat, 2, OPEN, CREATE),
    Check::new(libc::SYS_fchmod, 1, -1, 0o644),
    // Files, not directories.
    Check::new(libc::SYS_unlinkat, 2, -1, 0),
    // Memory for data: no code, and no file's.
    Check::new(libc::SYS_mmap, 2, libc::PROT_EXEC, 0).and(
        3,
        ANONYMOUS | libc::MAP_SHARED,
        ANONYMOUS,
    ),
    Check::new(libc::SYS_mprotect, 2, libc::PROT_EXEC, 0),
    // A build for tests asks so before it closes a descriptor.
    Check::new(libc::SYS_fcntl, 1, -1, libc::F_GETFD),
];

/// Puts the filter in force; afterwards no program that is started could gain rights either.
pub(super) fn restrict() -> Option<String> {
    let Some(program) = assemble(&ALWAYS, &CHECKED) else {
        return Some("system calls are not restricted on this architecture".to_owned());
    };
    let error = seccompiler::apply_filter(&program).err()?;
    Some(format!(
        "system calls are not restricted: this kernel or runtime does not allow seccomp: {error}"
    ))
}
