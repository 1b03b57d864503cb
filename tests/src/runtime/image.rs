//! A root file system to start containers from: a static busybox.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

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
    fs::copy(BUSYBOX, root.join("bin/busybox")).map_err(|error| {
        io::Error::other(format!(
            "{BUSYBOX} cannot be copied ({error}): install busybox-static"
        ))
    })?;
    for command in COMMANDS {
        symlink("busybox", root.join("bin").join(command))?;
    }
    symlink("/run", root.join("var/run"))
}
