//! Attempts on files and directories; the last one does what a hook does.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};

use crate::attempts::{Attempt, done, killed, refused};
use crate::raw::{call, text};

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

/// Opens a file by the library that the hook opens its files by: the C library, musl's, asks for more.
fn open_as_the_hook(place: &Path, name: &str, flags: OFlags) -> io::Result<File> {
    let mode = Mode::RUSR | Mode::WUSR;
    let file = openat(CWD, place.join(name), flags | OFlags::CLOEXEC, mode)?;
    Ok(File::from(file))
}

pub(crate) const ATTEMPTS: &[Attempt] = &[
    killed("a_file_by_handle", |_| {
        call(libc::SYS_open_by_handle_at, [0, 0, 0, 0, 0, 0]).map(drop)
    }),
    killed("a_handle_of_a_file", |_| {
        call(libc::SYS_name_to_handle_at, [-100, text("/"), 0, 0, 0, 0]).map(drop)
    }),
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
    killed("a_control_of_a_device", |_| {
        call(libc::SYS_ioctl, [0, 0x5412, 0, 0, 0, 0]).map(drop)
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
    #[cfg(target_arch = "x86_64")]
    killed("the_older_open", |_| {
        call(libc::SYS_open, [text("/nowhere"), 0, 0, 0, 0, 0]).map(drop)
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
            .map(|_| open_as_the_hook(place, "read/file", OFlags::RDONLY))
            .collect();
        opened.map(drop)
    }),
    done("what_a_hook_does", |place| {
        let mut bytes = Vec::new();
        open_as_the_hook(place, "read/file", OFlags::RDONLY)?.read_to_end(&mut bytes)?;
        let new = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        open_as_the_hook(place, "write/.new", new)?.write_all(&bytes)?;
        let (from, to) = (path(place, "write/.new"), path(place, "write/file"));
        call(libc::SYS_renameat, [-100, from, -100, to, 0, 0]).map(drop)
    }),
];
