//! Where the agent finds the kernel's and the system's files: parameters, so that a directory
//! can stand in for each.

use std::path::PathBuf;

/// The roots of the file trees that the agent reads and writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// sysfs.
    pub sys: PathBuf,
    /// procfs.
    pub proc: PathBuf,
    /// Runtime state: the only tree that is written to.
    pub run: PathBuf,
    /// Configuration.
    pub etc: PathBuf,
    /// What the distribution installs.
    pub usr: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self {
            sys: "/sys".into(),
            proc: "/proc".into(),
            run: "/run".into(),
            etc: "/etc".into(),
            usr: "/usr".into(),
        }
    }
}
