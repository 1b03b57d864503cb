//! A cgroup of the test's own, removed with everything below it.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// Names a cgroup, and removes it from every hierarchy at the end: a runtime that is killed leaves
/// it behind, and podman leaves the parent in any case.
#[derive(Debug)]
pub(crate) struct Cgroup {
    name: String,
}

impl Cgroup {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self {
            name: format!("dra-guest-tests-{}-{number}", std::process::id()),
        }
    }

    /// Its path from the root of a hierarchy.
    pub(crate) fn path(&self) -> String {
        format!("/{}", self.name)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let top = Path::new("/sys/fs/cgroup");
        remove(&top.join(&self.name));
        for hierarchy in fs::read_dir(top).into_iter().flatten().flatten() {
            remove(&hierarchy.path().join(&self.name));
        }
    }
}

/// Removes a cgroup and those below it; what is not there needs no removal.
fn remove(cgroup: &Path) {
    for entry in fs::read_dir(cgroup).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove(&entry.path());
        }
    }
    let _ = fs::remove_dir(cgroup);
}
