//! A root file system to start containers from: a static busybox.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// Where Debian's `busybox-static` installs it.
const BUSYBOX: &str = "/bin/busybox";
/// The commands that suites use inside a container.
const COMMANDS: [&str; 8] = ["sh", "cat", "ls", "env", "true", "touch", "stat", "sleep"];

/// Makes a root file system below `root`, which must not exist yet.
///
/// `/var/run` is an absolute link to `/run`, as in Debian's images: resolved on the node it would
/// lead out of the container.
///
/// # Errors
/// When busybox-static is not installed or a file cannot be made.
pub fn busybox_root(root: &Path) -> io::Result<()> {
    for directory in ["bin", "dev", "etc", "proc", "run", "sys", "tmp", "var"] {
        fs::create_dir_all(root.join(directory))?;
    }
    // By a program: a child of another test's would for a moment hold the new file open for writing,
    // and it could not be started then.
    let copied = Command::new("cp")
        .arg(BUSYBOX)
        .arg(root.join("bin"))
        .status()?;
    if !copied.success() {
        return Err(io::Error::other(format!(
            "{BUSYBOX} cannot be copied: install busybox-static"
        )));
    }
    for command in COMMANDS {
        symlink("busybox", root.join("bin").join(command))?;
    }
    symlink("/run", root.join("var/run"))
}
