//! Running a program in mount and PID namespaces of its own.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// When a run is killed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Limit {
    /// After far more time than one container takes, and less than a stuck suite costs.
    OneContainer,
    /// After so many seconds.
    Seconds(u32),
}

impl Limit {
    fn seconds(self) -> u32 {
        match self {
            Self::OneContainer => 120,
            Self::Seconds(seconds) => seconds,
        }
    }
}

/// Prepares the namespaces and runs the rest of the arguments.
///
/// `/run` is empty, and every file of the directory `$1` is a CDI spec in `/run/cdi`. With `$2`
/// set to `cgroup2`, `/sys/fs/cgroup` is the unified hierarchy: crun refuses the mixed one.
const PREPARE: &str = r#"set -e
mount -t tmpfs -o mode=0755 tmpfs /run
mkdir /run/cdi
for spec in "$1"/*; do if [ -e "$spec" ]; then cp "$spec" /run/cdi/; fi; done
if [ "$2" = cgroup2 ]; then
    umount -l /sys/fs/cgroup
    mount -t cgroup2 none /sys/fs/cgroup
fi
shift 2
"$@""#;

/// Which cgroup hierarchy a program sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cgroups {
    /// That of the machine.
    Machine,
    /// The unified one alone.
    Unified,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
}

impl Outcome {
    /// Whether it ended with exit code 0.
    pub fn success(&self) -> bool {
        self.code == Some(0)
    }
}

/// Runs a program in mount and PID namespaces of its own, and waits for it: that of one container.
///
/// # Errors
/// When the namespaces cannot be made, for want of root or of a program.
pub(crate) fn run<I, S>(cdi_specs: &Path, cgroups: Cgroups, command: I) -> io::Result<Outcome>
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    run_within(Limit::OneContainer, cdi_specs, cgroups, command)
}

/// The same with a limit of its own.
pub(crate) fn run_within<I, S>(
    limit: Limit,
    cdi_specs: &Path,
    cgroups: Cgroups,
    command: I,
) -> io::Result<Outcome>
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    let output = Command::new("timeout")
        .args(["--signal=KILL", &limit.seconds().to_string()])
        .args(["unshare", "--mount", "--propagation=private"])
        .args(["--pid", "--fork", "--kill-child", "--mount-proc"])
        .args(["sh", "-c", PREPARE, "sh"])
        .arg(cdi_specs)
        .arg(match cgroups {
            Cgroups::Machine => "machine",
            Cgroups::Unified => "cgroup2",
        })
        .args(command)
        // crun gives standard input to the container's user: never a device of the machine.
        .stdin(Stdio::piped())
        .output()
        .map_err(|error| io::Error::other(format!("timeout (coreutils) cannot be run: {error}")))?;
    Ok(Outcome {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}
