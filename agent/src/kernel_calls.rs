//! The few system calls that no library offers as safe functions: CPU affinity for any number of CPUs,
//! memory policy, the closing of many files, and how SIGPIPE was inherited.
#![expect(
    unsafe_code,
    reason = "raw system calls; each has its proof, and nothing else of the agent is unsafe"
)]

use std::ffi::{c_int, c_long, c_ulong};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd as _, IntoRawFd as _, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

use nix::unistd::{ForkResult, Pid, fork};

use crate::numa::cpu_list::{CpuList, Kind, List, NodeList};

/// Where a thread's new memory comes from, by `set_mempolicy(2)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemoryMode {
    /// From these nodes and no others.
    Bind,
    /// From the lowest of these nodes as long as it has some.
    Preferred,
    /// From these nodes as long as they have some; since Linux 5.15.
    PreferredMany,
}

/// The CPUs that the calling thread may run on now, by `sched_getaffinity(2)`.
///
/// # Errors
/// The kernel's.
pub(crate) fn affinity() -> io::Result<CpuList> {
    // As most kernels have; one for more CPUs answers EINVAL.
    let mut words: Vec<c_ulong> = vec![0; words_for(1024)];
    loop {
        // SAFETY: the kernel writes no more than the bytes it is told of, all of them the vector's; it
        // keeps no pointer. Thread 0 is the calling one.
        let result = unsafe {
            libc::syscall(
                libc::SYS_sched_getaffinity,
                0,
                size_of_val(words.as_slice()),
                words.as_mut_ptr(),
            )
        };
        match checked(result) {
            Ok(()) => return Ok(list(&words)),
            Err(error)
                if error.raw_os_error() == Some(libc::EINVAL)
                    && words.len() < words_for(<crate::numa::cpu_list::Cpu as Kind>::LIMIT) =>
            {
                words.resize(words.len() * 2, 0);
            }
            Err(error) => return Err(error),
        }
    }
}

/// Lets the calling thread run on these CPUs alone. Of them the kernel takes those that are online and
/// in the thread's cpuset. Needs no privilege.
///
/// # Errors
/// The kernel's: `EINVAL` when none is left.
pub(crate) fn set_affinity(cpus: &CpuList) -> io::Result<()> {
    let words = mask(cpus);
    // SAFETY: the kernel reads the bytes it is told of, all of them the vector's, and keeps no pointer.
    checked(unsafe {
        libc::syscall(
            libc::SYS_sched_setaffinity,
            0,
            size_of_val(words.as_slice()),
            words.as_ptr(),
        )
    })
}

/// Says where the calling thread's memory comes from. Of the nodes the kernel takes those that have
/// memory and are in the thread's cpuset. Needs no privilege.
///
/// # Errors
/// The kernel's: `EINVAL` when none is left or the mode is not known, `ENOSYS` without NUMA, `EPERM` of a
/// system call filter.
pub(crate) fn set_memory_policy(mode: MemoryMode, nodes: &NodeList) -> io::Result<()> {
    // `include/uapi/linux/mempolicy.h`.
    let mode: c_int = match mode {
        MemoryMode::Preferred => 1,
        MemoryMode::Bind => 2,
        MemoryMode::PreferredMany => 5,
    };
    let words = mask(nodes);
    let bits = size_of_val(words.as_slice()) * 8;
    // SAFETY: the kernel reads `bits` bits, all of them the vector's, and keeps no pointer. It takes one
    // from the number first (`mm/mempolicy.c`, `get_nodes`).
    checked(unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, words.as_ptr(), bits + 1) })
}

/// Closes files, those whose descriptors follow one another in one call (`close_range(2)`, Linux 5.9).
pub(crate) fn close_together(files: Vec<OwnedFd>) {
    let descriptors = files.into_iter().map(OwnedFd::into_raw_fd);
    let mut descriptors: Vec<RawFd> = descriptors.collect();
    descriptors.sort_unstable();
    for run in descriptors.chunk_by(|one, next| *next == one + 1) {
        let [first, .., last] = run else {
            close_each(run);
            continue;
        };
        // SAFETY: every descriptor of the range is among those that were taken from their owners above,
        // so that nobody else uses or closes it; the kernel is given no pointer.
        let result = checked(unsafe { libc::syscall(libc::SYS_close_range, *first, *last, 0) });
        if result.is_err() {
            // It is not there, or a filter forbids it: nothing was closed.
            close_each(run);
        }
    }
}

/// Does `work` in a process of its own, which holds no descriptor of this one and ends with it. The pipe's other end is
/// open until then. The caller has no other thread.
///
/// # Errors
/// When the kernel gives no process.
pub(crate) fn apart(work: impl FnOnce()) -> io::Result<(Pid, OwnedFd)> {
    let (end, held) = io::pipe()?;
    let (end, held) = (OwnedFd::from(end), OwnedFd::from(held));
    // SAFETY: the caller is the only thread, so that no lock of the allocator or of standard error is held by one that
    // the new process does not have. The new process does not return from here.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => Ok((child, end)),
        ForkResult::Child => {
            let held = held.into_raw_fd();
            // Whoever reads what this program says waits for the last that could say more.
            close_all_but(held);
            work();
            // SAFETY: it ends the process at once, without anything that is to run at an orderly end.
            unsafe { libc::_exit(0) }
        }
    }
}

/// Closes every descriptor but one, in a process that uses none any more.
fn close_all_but(kept: RawFd) {
    let ranges = [(0, kept - 1), (kept + 1, RawFd::MAX)];
    for (first, last) in ranges.into_iter().filter(|(first, last)| first <= last) {
        // SAFETY: the process is a copy that ends by `_exit`, so that what owns these descriptors in it is neither used
        // nor dropped. The kernel is given no pointer.
        let result = checked(unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) });
        if result.is_err() && first == 0 {
            // Before Linux 5.9, or under a filter.
            close_each(&[0, 1, 2]);
        }
    }
}

fn close_each(descriptors: &[RawFd]) {
    for descriptor in descriptors {
        // SAFETY: it is open, was taken from its owner by the caller, and has no other.
        drop(unsafe { OwnedFd::from_raw_fd(*descriptor) });
    }
}

fn checked(result: c_long) -> io::Result<()> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

fn words_for(numbers: u32) -> usize {
    let words = numbers.div_ceil(c_ulong::BITS);
    usize::try_from(words).unwrap_or(usize::MAX)
}

/// The kernel's bitmap of a list, in words of its size, with one bit at least.
fn mask<K: Kind>(list: &List<K>) -> Vec<c_ulong> {
    let mut words = vec![0];
    for number in list.numbers() {
        let word = words_for(number + 1) - 1;
        if words.len() <= word {
            words.resize(word + 1, 0);
        }
        if let Some(word) = words.get_mut(word) {
            *word |= 1 << (number % c_ulong::BITS);
        }
    }
    words
}

fn list(words: &[c_ulong]) -> CpuList {
    let bits = words
        .iter()
        .flat_map(|word| (0..c_ulong::BITS).map(move |bit| word >> bit & 1 != 0));
    let numbers = (0..).zip(bits).filter(|(_, is_set)| *is_set);
    numbers.map(|(number, _)| number).collect()
}

/// Whether SIGPIPE was ignored when the program began. Rust's runtime ignores it before `main`, and a
/// program that is run in this one's place has to have it as this one got it: systemd starts services
/// with it ignored (`IgnoreSIGPIPE=`), a shell does not.
static SIGPIPE_WAS_IGNORED: AtomicBool = AtomicBool::new(false);

/// Runs before Rust's runtime does anything, as the C library calls what is in this section.
// SAFETY: the section's elements are functions without arguments (`gABI`, "Initialization and Termination
// Functions"; glibc's arguments are passed over). This one makes a system call and stores a bool: it uses
// nothing of the runtime.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = remember_sigpipe;

extern "C" fn remember_sigpipe() {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: without a new action the call only writes the old one to the place it is given.
    let result = unsafe { libc::sigaction(libc::SIGPIPE, std::ptr::null(), action.as_mut_ptr()) };
    if result == 0 {
        // SAFETY: it succeeded, so that the action was written whole.
        let handler = unsafe { action.assume_init() }.sa_sigaction;
        SIGPIPE_WAS_IGNORED.store(handler == libc::SIG_IGN, Ordering::Relaxed);
    }
}

/// Gives SIGPIPE back as it was inherited, for the program that comes in this one's place.
pub(crate) fn restore_sigpipe() {
    if !SIGPIPE_WAS_IGNORED.load(Ordering::Relaxed) {
        // SAFETY: the default action needs no handler. No other thread is there to be surprised by it: a
        // program is about to come in this one's place.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// On a thread of its own, since both belong to the calling thread.
    fn apart(test: impl FnOnce() + Send + 'static) {
        thread::spawn(test).join().unwrap();
    }

    #[test]
    fn affinity_is_set_and_read() {
        apart(|| {
            let all = affinity().unwrap();
            let one: CpuList = all.first().into_iter().collect();
            // The kernel passes over CPUs that it does not have, of whatever number.
            let more = one.union(&"1000-5000,65535".parse().unwrap());
            set_affinity(&more).unwrap();
            assert_eq!(affinity().unwrap(), one);
            let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
            assert!(
                status.contains(&format!("Cpus_allowed_list:\t{one}\n")),
                "{status}"
            );
            let absent = "60000".parse().unwrap();
            let error = set_affinity(&absent).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
        });
    }

    /// Who reads a pipe has its end once nobody can write to it.
    #[test]
    fn files_are_closed_and_no_others() {
        use std::io::{Read as _, Write as _};
        let pipes = (0..9).map(|_| io::pipe().unwrap());
        let (mut readers, mut writers): (Vec<_>, Vec<_>) = pipes.unzip();
        let mut kept = [writers.remove(4), writers.remove(0)];
        let mut readers_of_kept = [readers.remove(4), readers.remove(0)];
        writers.reverse();
        close_together(writers.into_iter().map(OwnedFd::from).collect());
        for mut reader in readers {
            assert_eq!(reader.read(&mut [0]).unwrap(), 0);
        }
        for (writer, reader) in kept.iter_mut().zip(&mut readers_of_kept) {
            writer.write_all(b"x").unwrap();
            assert_eq!(reader.read(&mut [0]).unwrap(), 1);
        }
        close_together(Vec::new());
    }

    #[test]
    fn bitmaps_are_of_any_length() {
        for text in ["0", "63", "64", "0-127", "1023-1024", "8191", "65535"] {
            let cpus: CpuList = text.parse().unwrap();
            let words = mask(&cpus);
            assert_eq!(list(&words), cpus, "{text}");
            assert_ne!(words.last(), Some(&0), "{text}");
        }
        assert_eq!(mask(&CpuList::new()), [0]);
    }
}
