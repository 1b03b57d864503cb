//! Descriptors that whoever started the hook left open.
//!
//! A runtime that leaks one hands over a way to the node's files (CVE-2024-21626).

/// The one place of the program that is not safe Rust: no library offers this call.
#[allow(unsafe_code)]
pub(super) fn close() -> Option<String> {
    // Standard input, output and error stay: the start of every Rust program puts /dev/null where
    // one of them is missing, so that no file of the hook's own ever gets their numbers.
    const FIRST: libc::c_uint = 3;
    // SAFETY: close_range(2) reads and writes no memory of the process. It closes descriptors that
    // may belong to somebody in this process, which would break what an `OwnedFd` promises; there
    // is none, since this is the first thing that the program does ([`super::first`]) and its start
    // opens nothing but 0, 1 and 2.
    let result = unsafe { libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, 0) };
    (result != 0).then(|| {
        let error = std::io::Error::last_os_error();
        format!("descriptors that were inherited stay open: close_range: {error}")
    })
}
