//! Network namespaces for tests: each test has one of its own, with its own `/sys`, that goes away
//! with it.
//!
//! A namespace belongs to a thread: what the test starts inside (a tokio runtime, a command) is in
//! it, the other tests of the process are not.

#![allow(dead_code, reason = "each test program uses what it needs")]

use std::process::Command;
use std::thread;

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

/// Runs a test inside a new network namespace that holds only `lo`, down.
pub(crate) fn in_namespace<T: Send>(test: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            enter();
            test()
        });
        match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn enter() {
    match unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS) {
        Err(Errno::EPERM) => panic!(
            "this test makes a network namespace, which needs root: run it as root, or under \
             `unshare --map-root-user`"
        ),
        other => other.expect("unshare the network and mount namespaces"),
    }
    let none: Option<&str> = None;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)
        .expect("make the mounts private");
    // sysfs shows the interfaces of the namespace that it was mounted in.
    mount(Some("sysfs"), "/sys", Some("sysfs"), MsFlags::empty(), none)
        .expect("mount sysfs at /sys");
}

/// Runs `ip` of iproute2 in the namespace and gives back what it prints; words are separated by
/// spaces.
pub(crate) fn ip(arguments: &str) -> String {
    let output = Command::new("ip")
        .args(arguments.split(' '))
        .output()
        .expect("run ip, of the package iproute2");
    assert!(
        output.status.success(),
        "ip {arguments}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Makes a veth pair, both ends down, each with a MAC made of its number: `name` has
/// `02:00:00:00:<number>:01`, `<name>-peer` has `…:02`.
pub(crate) fn veth(name: &str, number: u8) {
    ip(&format!(
        "link add {name} address 02:00:00:00:{number:02x}:01 type veth peer name {name}-peer \
         address 02:00:00:00:{number:02x}:02"
    ));
}

/// Runs a future on a runtime that has time and no more, which is all that netlink needs.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("build a runtime")
        .block_on(future)
}
