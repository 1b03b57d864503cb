//! A system call as a program that is taken over would make it.

use std::io;

/// Makes it with numbers alone; pointers come from [`text`].
#[allow(unsafe_code, clippy::cast_possible_truncation)]
pub(crate) fn call(number: libc::c_long, arguments: [libc::c_long; 6]) -> io::Result<libc::c_long> {
    let [first, second, third, fourth, fifth, sixth] = arguments;
    // SAFETY: The process exists for this one call. Those that could harm its memory end it, which is
    // what the test is about; a pointer that is bad is answered with EFAULT.
    let result = unsafe { libc::syscall(number, first, second, third, fourth, fifth, sixth) };
    if result == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}

/// A pointer to a text with a NUL, valid until the process ends.
pub(crate) fn text(text: impl Into<Vec<u8>>) -> libc::c_long {
    let text = std::ffi::CString::new(text).unwrap();
    Box::leak(text.into_boxed_c_str()).as_ptr() as libc::c_long
}

/// A 32-bit call of x86-64 (`int 0x80`), whose numbers are other calls'.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
pub(crate) fn call_32_bit(number: u32) {
    // SAFETY: the call gets no pointers, and the registers that it changes are named.
    unsafe {
        std::arch::asm!(
            "int 0x80",
            inlateout("rax") u64::from(number) => _,
            lateout("r8") _, lateout("r9") _, lateout("r10") _, lateout("r11") _,
        );
    }
}
