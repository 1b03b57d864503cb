//! The system calls that a run needs, and none besides (seccomp).
//!
//! The program is static, so that this list belongs to one build of it and one C library; the
//! tests run every path under it. Whatever else is asked for ends the process: an answer like EPERM
//! would leave it running in a state that nobody wrote. The filter checks the architecture, and the
//! x32 numbers of x86-64 are none of its list. Time comes from the vDSO; where there is none,
//! `clock_gettime` is allowed. What a filter cannot see is what a pointer leads to: paths, and the
//! flags of `openat2`. Those are for [`super::Files`].

use std::collections::BTreeMap;

use libc::{
    O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_RDWR, O_TMPFILE, O_TRUNC, O_WRONLY, c_int, c_long,
};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};

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

/// Puts the filter in force; afterwards no program that is started could gain rights either.
pub(super) fn restrict() -> Option<String> {
    let program = match program() {
        Ok(program) => program,
        Err(error) => return Some(format!("system calls are not restricted: {error}")),
    };
    let error = seccompiler::apply_filter(&program).err()?;
    Some(format!(
        "system calls are not restricted: this kernel or runtime does not allow seccomp: {error}"
    ))
}

fn program() -> Result<BpfProgram, BackendError> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    let mut rules: BTreeMap<c_long, Vec<SeccompRule>> =
        ALWAYS.into_iter().map(|call| (call, Vec::new())).collect();
    // Any file for reading; for writing a new one only, and never through a link.
    // Not O_ACCMODE, of which O_PATH is a part in musl.
    let look = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & !libc::O_DIRECTORY);
    let create = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
    rules.insert(
        libc::SYS_openat,
        vec![
            rule([masked(2, look, 0)?])?,
            rule([masked(2, look | create, create)?])?,
        ],
    );
    rules.insert(libc::SYS_fchmod, vec![rule([equal(1, 0o644)?])?]);
    // Files, not directories.
    rules.insert(libc::SYS_unlinkat, vec![rule([equal(2, 0)?])?]);
    // Memory for data: no code, and no file's.
    let anonymous = libc::MAP_ANONYMOUS | libc::MAP_PRIVATE;
    rules.insert(
        libc::SYS_mmap,
        vec![rule([
            masked(2, libc::PROT_EXEC, 0)?,
            masked(3, anonymous | libc::MAP_SHARED, anonymous)?,
        ])?],
    );
    rules.insert(
        libc::SYS_mprotect,
        vec![rule([masked(2, libc::PROT_EXEC, 0)?])?],
    );
    // A build for tests asks so before it closes a descriptor.
    rules.insert(libc::SYS_fcntl, vec![rule([equal(1, libc::F_GETFD)?])?]);
    SeccompFilter::new(
        rules,
        SeccompAction::KillProcess,
        SeccompAction::Allow,
        architecture,
    )?
    .try_into()
}

fn rule<const N: usize>(conditions: [SeccompCondition; N]) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions.into())
}

/// The argument is this value.
fn equal(argument: u8, value: c_int) -> Result<SeccompCondition, BackendError> {
    condition(argument, SeccompCmpOp::Eq, value)
}

/// The argument has this value in the bits of the mask.
fn masked(argument: u8, mask: c_int, value: c_int) -> Result<SeccompCondition, BackendError> {
    condition(
        argument,
        SeccompCmpOp::MaskedEq(u64::from(mask.cast_unsigned())),
        value,
    )
}

/// The kernel takes the lower 32 bits of these arguments alone.
fn condition(
    argument: u8,
    operator: SeccompCmpOp,
    value: c_int,
) -> Result<SeccompCondition, BackendError> {
    let value = u64::from(value.cast_unsigned());
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}
