//! What is tried from inside the fence, and how each attempt must end.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};

use crate::raw::{call, text};

/// How an attempt must end.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Expected {
    /// The filter of system calls ends the process.
    Killed,
    /// The kernel answers with this number.
    Refused(i32),
    /// It is done: a hook needs it.
    Done,
}

/// Something that is tried.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) name: &'static str,
    pub(crate) expected: Expected,
    pub(crate) make: fn(&Path) -> io::Result<()>,
}

const fn killed(name: &'static str, make: fn(&Path) -> io::Result<()>) -> Attempt {
    Attempt {
        name,
        expected: Expected::Killed,
        make,
    }
}

const fn refused(name: &'static str, errno: i32, make: fn(&Path) -> io::Result<()>) -> Attempt {
    Attempt {
        name,
        expected: Expected::Refused(errno),
        make,
    }
}

const fn done(name: &'static str, make: fn(&Path) -> io::Result<()>) -> Attempt {
    Attempt {
        name,
        expected: Expected::Done,
        make,
    }
}

fn path(place: &Path, name: &str) -> libc::c_long {
    text(place.join(name).into_os_string().into_encoded_bytes())
}

/// Opens a file with these flags.
fn open(place: &Path, name: &str, flags: libc::c_int) -> io::Result<()> {
    let arguments = [
        libc::c_long::from(libc::AT_FDCWD),
        path(place, name),
        flags.into(),
        0o644,
        0,
        0,
    ];
    call(libc::SYS_openat, arguments).map(drop)
}

const CREATE: libc::c_int = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;

/// Opens a file by the one call whose flags no filter sees.
fn open_unseen(place: &Path, name: &str, flags: OFlags) -> io::Result<()> {
    let mode = if flags.contains(OFlags::CREATE) {
        Mode::RUSR | Mode::WUSR
    } else {
        Mode::empty()
    };
    let (flags, resolve) = (flags | OFlags::CLOEXEC, ResolveFlags::empty());
    openat2(CWD, place.join(name), flags, mode, resolve)?;
    Ok(())
}

/// All attempts.
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
    killed("a_socket", |_| {
        call(
            libc::SYS_socket,
            [
                libc::c_long::from(libc::AF_INET),
                libc::c_long::from(libc::SOCK_STREAM),
                0,
                0,
                0,
                0,
            ],
        )
        .map(drop)
    }),
    killed("a_netlink_socket", |_| {
        call(
            libc::SYS_socket,
            [
                libc::c_long::from(libc::AF_NETLINK),
                libc::c_long::from(libc::SOCK_RAW),
                0,
                0,
                0,
                0,
            ],
        )
        .map(drop)
    }),
    killed("a_pair_of_sockets", |_| {
        call(libc::SYS_socketpair, [1, 1, 0, 0, 0, 0]).map(drop)
    }),
    killed("a_connection", |_| {
        call(libc::SYS_connect, [3, 0, 0, 0, 0, 0]).map(drop)
    }),
    killed("a_mount", |_| {
        call(libc::SYS_mount, [0, 0, 0, 0, 0, 0]).map(drop)
    }),
    killed("a_mount_of_the_newer_calls", |_| {
        call(libc::SYS_move_mount, [-1, 0, -1, 0, 0, 0]).map(drop)
    }),
    killed("a_tree_of_mounts", |_| {
        call(libc::SYS_open_tree, [-100, text("/"), 1, 0, 0, 0]).map(drop)
    }),
    killed("a_file_system", |_| {
        call(libc::SYS_fsopen, [text("tmpfs"), 0, 0, 0, 0, 0]).map(drop)
    }),
    killed("an_unmount", |_| {
        call(libc::SYS_umount2, [text("/proc"), 2, 0, 0, 0, 0]).map(drop)
    }),
    killed("another_root", |_| {
        call(libc::SYS_pivot_root, [0; 6]).map(drop)
    }),
    killed("a_chroot", |_| {
        call(libc::SYS_chroot, [text("/"), 0, 0, 0, 0, 0]).map(drop)
    }),
    killed("another_working_directory", |_| {
        call(libc::SYS_chdir, [text("/"), 0, 0, 0, 0, 0]).map(drop)
    }),
    killed("another_namespace", |_| {
        call(libc::SYS_setns, [0, 0, 0, 0, 0, 0]).map(drop)
    }),
    killed("a_new_namespace", |_| {
        call(
            libc::SYS_unshare,
            [libc::c_long::from(libc::CLONE_NEWUSER), 0, 0, 0, 0, 0],
        )
        .map(drop)
    }),
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
    killed("a_file_by_handle", |_| {
        call(libc::SYS_open_by_handle_at, [0, 0, 0, 0, 0, 0]).map(drop)
    }),
    killed("a_handle_of_a_file", |_| {
        call(libc::SYS_name_to_handle_at, [-100, text("/"), 0, 0, 0, 0]).map(drop)
    }),
    killed("an_io_uring", |_| {
        call(libc::SYS_io_uring_setup, [1, 0, 0, 0, 0, 0]).map(drop)
    }),
    killed("a_bpf_program", |_| call(libc::SYS_bpf, [0; 6]).map(drop)),
    killed("a_counter_of_the_processor", |_| {
        call(libc::SYS_perf_event_open, [0; 6]).map(drop)
    }),
    killed("a_page_fault_handler", |_| {
        call(libc::SYS_userfaultfd, [0; 6]).map(drop)
    }),
    killed("a_key", |_| call(libc::SYS_keyctl, [0; 6]).map(drop)),
    killed("a_new_key", |_| call(libc::SYS_add_key, [0; 6]).map(drop)),
    killed("a_module", |_| {
        call(libc::SYS_finit_module, [0; 6]).map(drop)
    }),
    killed("another_kernel", |_| {
        call(libc::SYS_kexec_load, [0; 6]).map(drop)
    }),
    killed("a_restart", |_| call(libc::SYS_reboot, [0; 6]).map(drop)),
    killed("an_owner", |_| {
        call(libc::SYS_fchownat, [-100, text("/nowhere"), 0, 0, 0, 0]).map(drop)
    }),
    killed("an_owner_by_descriptor", |_| {
        call(libc::SYS_fchown, [0, 0, 0, 0, 0, 0]).map(drop)
    }),
    killed("a_mode_by_path", |_| {
        call(libc::SYS_fchmodat, [-100, text("/nowhere"), 0o777, 0, 0, 0]).map(drop)
    }),
    killed("another_mode", |_| {
        call(libc::SYS_fchmod, [0, 0o4755, 0, 0, 0, 0]).map(drop)
    }),
    killed("an_attribute", |_| {
        call(
            libc::SYS_setxattr,
            [text("/nowhere"), text("user.x"), 0, 0, 0, 0],
        )
        .map(drop)
    }),
    killed("a_device", |_| {
        call(
            libc::SYS_mknodat,
            [-100, text("/tmp/fence-device"), 0o020_666, 0x103, 0, 0],
        )
        .map(drop)
    }),
    killed("a_directory", |_| {
        call(
            libc::SYS_mkdirat,
            [-100, text("/tmp/fence-directory"), 0o777, 0, 0, 0],
        )
        .map(drop)
    }),
    killed("a_symbolic_link", |_| {
        call(
            libc::SYS_symlinkat,
            [text("/etc"), -100, text("/tmp/fence-link"), 0, 0, 0],
        )
        .map(drop)
    }),
    killed("a_hard_link", |_| {
        call(
            libc::SYS_linkat,
            [
                -100,
                text("/etc/passwd"),
                -100,
                text("/tmp/fence-link"),
                0,
                0,
            ],
        )
        .map(drop)
    }),
    killed("an_exchange", |_| {
        call(
            libc::SYS_renameat2,
            [-100, text("/nowhere/a"), -100, text("/nowhere/b"), 2, 0],
        )
        .map(drop)
    }),
    killed("a_directory_removed", |_| {
        call(
            libc::SYS_unlinkat,
            [
                -100,
                text("/nowhere"),
                libc::c_long::from(libc::AT_REMOVEDIR),
                0,
                0,
                0,
            ],
        )
        .map(drop)
    }),
    killed("a_shorter_file", |_| {
        call(libc::SYS_ftruncate, [0, 0, 0, 0, 0, 0]).map(drop)
    }),
    killed("a_file_in_memory", |_| {
        call(libc::SYS_memfd_create, [text("x"), 0, 0, 0, 0, 0]).map(drop)
    }),
    killed("a_control_of_a_device", |_| {
        call(libc::SYS_ioctl, [0, 0x5412, 0, 0, 0, 0]).map(drop)
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
    killed("a_descriptor_with_another_number", |_| {
        call(libc::SYS_dup3, [1, 9, 0, 0, 0, 0]).map(drop)
    }),
    killed("a_descriptor_that_children_inherit", |_| {
        call(
            libc::SYS_fcntl,
            [1, libc::c_long::from(libc::F_SETFD), 0, 0, 0, 0],
        )
        .map(drop)
    }),
    killed("a_lease", |_| {
        call(libc::SYS_fcntl, [1, 1024, 0, 0, 0, 0]).map(drop)
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
    killed("a_host_name", |_| {
        call(libc::SYS_sethostname, [0; 6]).map(drop)
    }),
    killed("the_time", |_| {
        call(libc::SYS_clock_settime, [0; 6]).map(drop)
    }),
    killed("the_kernels_log", |_| {
        call(libc::SYS_syslog, [0; 6]).map(drop)
    }),
    killed("a_swap_file", |_| call(libc::SYS_swapon, [0; 6]).map(drop)),
    killed("a_watch_of_files", |_| {
        call(libc::SYS_fanotify_init, [0; 6]).map(drop)
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
    #[cfg(target_arch = "x86_64")]
    killed("the_older_open", |_| {
        call(libc::SYS_open, [text("/nowhere"), 0, 0, 0, 0, 0]).map(drop)
    }),
    #[cfg(target_arch = "x86_64")]
    killed("a_fork", |_| call(libc::SYS_fork, [0; 6]).map(drop)),
    #[cfg(target_arch = "x86_64")]
    killed("a_vfork", |_| call(libc::SYS_vfork, [0; 6]).map(drop)),
    killed("a_thread", |_| {
        std::thread::spawn(|| ()).join().unwrap();
        Ok(())
    }),
    killed("a_file_to_write", |place| {
        open(place, "write/file", libc::O_WRONLY)
    }),
    killed("a_file_to_read_and_write", |place| {
        open(place, "write/file", libc::O_RDWR)
    }),
    killed("a_file_to_append_to", |place| {
        open(place, "write/file", libc::O_WRONLY | libc::O_APPEND)
    }),
    killed("a_file_emptied", |place| {
        open(place, "write/file", libc::O_TRUNC)
    }),
    killed("a_file_that_may_be_there", |place| {
        open(place, "write/new", libc::O_WRONLY | libc::O_CREAT)
    }),
    killed("a_new_file_through_a_link", |place| {
        open(place, "write/new", CREATE & !libc::O_NOFOLLOW)
    }),
    killed("a_new_file_to_read_and_write", |place| {
        open(place, "write/new", CREATE & !libc::O_WRONLY | libc::O_RDWR)
    }),
    killed("a_file_without_a_name", |place| {
        open(place, "write", libc::O_WRONLY | libc::O_TMPFILE)
    }),
    refused("a_new_file_elsewhere", libc::EACCES, |place| {
        open(place, "elsewhere/new", CREATE)
    }),
    refused("a_new_file_where_only_reading_is", libc::EACCES, |place| {
        open(place, "read/new", CREATE)
    }),
    refused("a_file_elsewhere", libc::EACCES, |place| {
        File::open(place.join("elsewhere/file")).map(drop)
    }),
    refused("a_directory_elsewhere", libc::EACCES, |place| {
        fs::read_dir(place.join("elsewhere")).map(drop)
    }),
    refused("a_secret_of_the_node", libc::EACCES, |_| {
        File::open("/etc/shadow").map(drop)
    }),
    refused("itself_in_proc", libc::EACCES, |_| {
        File::open("/proc/self/mem").map(drop)
    }),
    refused("a_file_elsewhere_unseen", libc::EACCES, |place| {
        open_unseen(place, "elsewhere/file", OFlags::RDONLY)
    }),
    refused("a_file_elsewhere_to_write_unseen", libc::EACCES, |place| {
        open_unseen(place, "elsewhere/file", OFlags::WRONLY)
    }),
    refused("a_file_elsewhere_emptied_unseen", libc::EACCES, |place| {
        open_unseen(place, "elsewhere/file", OFlags::WRONLY | OFlags::TRUNC)
    }),
    refused("a_new_file_elsewhere_unseen", libc::EACCES, |place| {
        open_unseen(place, "elsewhere/new", OFlags::WRONLY | OFlags::CREATE)
    }),
    refused(
        "a_file_to_read_only_written_unseen",
        libc::EACCES,
        |place| open_unseen(place, "read/file", OFlags::WRONLY),
    ),
    refused("a_file_removed_elsewhere", libc::EACCES, |place| {
        let arguments = [-100, path(place, "elsewhere/file"), 0, 0, 0, 0];
        call(libc::SYS_unlinkat, arguments).map(drop)
    }),
    refused("a_file_moved_out", libc::EACCES, |place| {
        let (from, to) = (path(place, "write/file"), path(place, "elsewhere/new"));
        call(libc::SYS_renameat, [-100, from, -100, to, 0, 0]).map(drop)
    }),
    refused("a_file_moved_elsewhere", libc::EACCES, |place| {
        let (from, to) = (path(place, "elsewhere/file"), path(place, "elsewhere/new"));
        call(libc::SYS_renameat, [-100, from, -100, to, 0, 0]).map(drop)
    }),
    refused("more_descriptors_than_it_needs", libc::EMFILE, |place| {
        let opened: io::Result<Vec<File>> = (0..64)
            .map(|_| File::open(place.join("read/file")))
            .collect();
        opened.map(drop)
    }),
    refused("more_memory_than_it_needs", libc::ENOMEM, |_| {
        let anonymous = libc::c_long::from(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        call(libc::SYS_mmap, [0, 1 << 30, 3, anonymous, -1, 0]).map(drop)
    }),
    done("what_a_hook_does", |place| {
        let bytes = fs::read(place.join("read/file"))?;
        let mut new = OpenOptions::new();
        let flags = libc::O_EXCL | libc::O_NOFOLLOW;
        let new = new
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(flags);
        io::Write::write_all(&mut new.open(place.join("write/.new"))?, &bytes)?;
        let (from, to) = (path(place, "write/.new"), path(place, "write/file"));
        call(libc::SYS_renameat, [-100, from, -100, to, 0, 0]).map(drop)
    }),
];
