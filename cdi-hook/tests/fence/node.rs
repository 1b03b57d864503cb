//! Attempts on the node: its network, its mounts and namespaces, its kernel.

use crate::attempts::{Attempt, killed};
use crate::raw::{call, text};

pub(crate) const ATTEMPTS: &[Attempt] = &[
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
];
