//! A cgroup of the test's own, removed with everything below it.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const PREFIX: &str = "dra-guest-tests-";
/// Much more than the kernel takes to end processes.
const PATIENCE: Duration = Duration::from_secs(10);

/// Names a cgroup, and removes it from every hierarchy at the end: a runtime that is killed leaves
/// it behind, and podman leaves the parent in any case. So do programs of ours that are killed: those
/// of theirs go too.
#[derive(Debug)]
pub(crate) struct Cgroup {
    name: String,
}

impl Cgroup {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self {
            name: format!("{PREFIX}{}-{number}", std::process::id()),
        }
    }

    /// Makes it in every hierarchy, for those who expect it there.
    pub(crate) fn create(&self) -> io::Result<()> {
        for hierarchy in hierarchies()? {
            fs::create_dir(hierarchy.join(&self.name))?;
        }
        Ok(())
    }

    /// Its path from the root of a hierarchy.
    pub(crate) fn path(&self) -> String {
        format!("/{}", self.name)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        for hierarchy in hierarchies().unwrap_or_default() {
            let own = hierarchy.join(&self.name);
            let start = Instant::now();
            // Processes that were killed a moment ago are in it until they have ended. No `wait::until`:
            // an interrupted program clears up too.
            while remove(&own) && start.elapsed() < PATIENCE {
                thread::sleep(Duration::from_millis(10));
            }
            for entry in fs::read_dir(&hierarchy).into_iter().flatten().flatten() {
                if is_left_behind(&entry.file_name().to_string_lossy()) {
                    remove(&entry.path());
                }
            }
        }
    }
}

/// The roots of the machine's cgroup trees: one, or one a controller and maybe that one beside them.
fn hierarchies() -> io::Result<Vec<PathBuf>> {
    let top = PathBuf::from("/sys/fs/cgroup");
    if top.join("cgroup.controllers").exists() {
        return Ok(vec![top]);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(top)? {
        let entry = entry?;
        // Links are other names of those that are controlled together.
        if entry.file_type()?.is_dir() {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// Whether a cgroup of that name is one of ours, and the program that made it has ended.
fn is_left_behind(name: &str) -> bool {
    let number = name
        .strip_prefix(PREFIX)
        .and_then(|rest| rest.split('-').next());
    number.is_some_and(|number| !Path::new("/proc").join(number).exists())
}

/// Removes a cgroup and those below it, and says whether it is still there; what is not there needs no
/// removal.
fn remove(cgroup: &Path) -> bool {
    for entry in fs::read_dir(cgroup).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove(&entry.path());
        }
    }
    fs::remove_dir(cgroup).is_err_and(|error| error.kind() != ErrorKind::NotFound)
}
