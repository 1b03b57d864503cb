//! Why an installation fails: one sentence each, with what to do.

use rustix::io::Errno;

/// Why `install` or `uninstall` fails.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The node's root directory cannot be opened.
    #[error("the node's root directory {path} cannot be opened: {source}")]
    Root {
        /// Its path.
        path: String,
        /// The kernel's answer.
        source: Errno,
    },
    /// The running program cannot be read.
    #[error("this program cannot be read, to be copied: {0}")]
    Program(#[source] std::io::Error),
    /// A directory cannot be made or opened.
    #[error("the directory {path} cannot be made or opened: {source}{}", of_directory(*source, option))]
    Directory {
        /// Its path.
        path: String,
        /// The option that names it.
        option: &'static str,
        /// The kernel's answer.
        source: Errno,
    },
    /// A file cannot be written.
    #[error("{path} cannot be written: {step}: {source}{}", advice(*source, option))]
    Write {
        /// Its path.
        path: String,
        /// What failed, like `rename`.
        step: &'static str,
        /// The option that names its directory.
        option: &'static str,
        /// The kernel's answer.
        source: Errno,
    },
    /// A file cannot be examined or removed.
    #[error("{path} cannot be {what}: {source}{}", advice(*source, ""))]
    File {
        /// Its path.
        path: String,
        /// `read` or `removed`.
        what: &'static str,
        /// The kernel's answer.
        source: Errno,
    },
    /// Something else stands in the place of a file.
    #[error(
        "{path} is there already, and no installation put it there as it is now: look at it; --force replaces it, and {option} names another place"
    )]
    NotOurs {
        /// Its path.
        path: String,
        /// The option that names its directory.
        option: &'static str,
    },
    /// Another program installs or removes the hook.
    #[error("another install or uninstall is under way in {0}: wait for its end")]
    Busy(String),
    /// The record of what is installed is no such record.
    #[error(
        "{path} is not a record of what was installed: {source}; remove it, and the files of the hook by hand"
    )]
    Record {
        /// Its path.
        path: String,
        /// Why.
        source: serde_json::Error,
    },
}

/// The same for a directory that is to be made.
fn of_directory(error: Errno, option: &str) -> String {
    if error == Errno::EXIST {
        return "; this is a symbolic link that leads to nothing: make what it leads to".to_owned();
    }
    advice(error, option)
}

/// What to do about an answer of the kernel.
fn advice(error: Errno, option: &str) -> String {
    match error {
        Errno::ROFS if !option.is_empty() => format!(
            "; this node's image does not let that be written: name a directory with {option} that is, and that the runtime reads"
        ),
        Errno::ACCESS | Errno::PERM => "; run it as root".to_owned(),
        Errno::NOTDIR => "; a part of this path is no directory".to_owned(),
        _ => String::new(),
    }
}
