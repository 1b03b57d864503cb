//! Whether the guest's CPUs and memory have changed since the last look: CPUs that are plugged in or taken away,
//! memory that comes to a node, cpuset partitions. Nothing announces that on the netlink of networks, and the files
//! that say it are few: they are read often, and a pass is made when one says something else.

use std::path::{Path, PathBuf};

use super::topology::possible_nodes;
use crate::small_file;

/// Below sysfs. CPUs that come and go are in the first; the last is there with cpuset partitions in mind.
const FILES: [&str; 3] = [
    "devices/system/cpu/online",
    "devices/system/node/has_memory",
    "fs/cgroup/cpuset.cpus.effective",
];

/// What the last look saw.
#[derive(Debug)]
pub struct Lookout {
    /// None in a guest that has one node and will never have another: nothing is near or far there.
    files: Vec<PathBuf>,
    seen: Vec<Vec<u8>>,
}

impl Lookout {
    /// Looks for the first time at the guest whose sysfs is at `sys`.
    pub fn new(sys: &Path) -> Self {
        let has_distance = possible_nodes(sys).len() > 1;
        let files = FILES.iter().filter(|_| has_distance);
        let files: Vec<PathBuf> = files.map(|file| sys.join(file)).collect();
        let seen = look(&files);
        Self { files, seen }
    }

    /// Whether the guest has nodes to be near to or far from, or may come to have some.
    pub fn has_distance(&self) -> bool {
        !self.files.is_empty()
    }

    /// Whether one of the files says something else than at the last look.
    pub fn has_changed(&mut self) -> bool {
        let now = look(&self.files);
        let has_changed = now != self.seen;
        self.seen = now;
        has_changed
    }
}

/// What cannot be read is empty.
fn look(files: &[PathBuf]) -> Vec<Vec<u8>> {
    let texts = files.iter().map(|file| small_file::read(file));
    texts.map(Result::unwrap_or_default).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_changes_is_told_once() {
        let sys = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = sys.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("devices/system/node/possible", "0-1\n");
        write(FILES[0], "0-3\n");
        let mut lookout = Lookout::new(sys.path());
        assert!(lookout.has_distance() && !lookout.has_changed());
        for (file, text) in FILES.iter().zip(["0-2\n", "0-1\n", "0-1\n"]) {
            write(file, text);
            assert!(lookout.has_changed(), "{file}");
            assert!(!lookout.has_changed(), "{file}");
        }
    }

    #[test]
    fn with_one_node_nothing_is_looked_at() {
        for possible in ["0\n", ""] {
            let sys = tempfile::tempdir().unwrap();
            let node = sys.path().join("devices/system/node");
            fs::create_dir_all(&node).unwrap();
            fs::write(node.join("possible"), possible).unwrap();
            let mut lookout = Lookout::new(sys.path());
            let cpu = sys.path().join("devices/system/cpu");
            fs::create_dir_all(&cpu).unwrap();
            fs::write(cpu.join("online"), "0-1\n").unwrap();
            assert!(!lookout.has_distance() && !lookout.has_changed());
        }
    }
}
