//! Whether the relay, as who it is, can read the metadata files that drivers keep on the node.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::annotate::files::METADATA;
use examination::Examination;

const CHECK: &str = "metadata-dir";
/// The most files and directories that are looked at.
const MOST: usize = 4096;
/// The most that are named.
const NAMED: usize = 3;
const MOUNT: &str =
    "mount the kubelet's directory of plugins there, read-only, as deploy/annotation does";
const GROUP: &str = "give the relay's pod the group that can, as deploy/annotation does with supplementalGroups: [0]; until \
    then claims and ResourceSlices are asked in their place";

/// What was seen below the directory of plugins.
#[derive(Debug, Default)]
struct Seen {
    drivers: usize,
    /// Files of drivers that can be read.
    files: usize,
    /// What of drivers cannot, and why.
    closed: Vec<(PathBuf, io::Error)>,
    /// Plugins of which nobody knows whether they are drivers that keep metadata.
    hidden: Vec<(PathBuf, io::Error)>,
    left: usize,
}

/// Looks at the kubelet's directory of plugins: at each driver's metadata in it, down to the files.
pub fn examine(directory: &Path, examination: &mut Examination) {
    let mut seen = Seen {
        left: MOST,
        ..Seen::default()
    };
    match seen.list(directory) {
        Ok(plugins) => plugins.iter().for_each(|plugin| seen.driver(plugin)),
        Err(error) => {
            let advice = match error.kind() {
                io::ErrorKind::PermissionDenied => GROUP,
                _ => MOUNT,
            };
            examination.finding(CHECK, format!("{}: {error}", directory.display()), advice);
            return;
        }
    }
    let place = directory.display();
    if !seen.closed.is_empty() {
        let what = "files and directories of drivers cannot be read by this user";
        let words = format!("{} {what}: {}", seen.closed.len(), some(&seen.closed));
        examination.finding(CHECK, words, GROUP);
    } else if !seen.hidden.is_empty() {
        let what = "plugins' directories cannot be looked into by this user, so the metadata of drivers among them is not read";
        let words = format!("{} {what}: {}", seen.hidden.len(), some(&seen.hidden));
        examination.unknown(CHECK, words);
    } else if seen.drivers == 0 {
        examination.unknown(
            CHECK,
            format!("{place}: no driver keeps metadata there; claims and ResourceSlices are asked in their place"),
        );
    } else {
        let more = if seen.left == 0 { ", and more" } else { "" };
        let (drivers, files) = (seen.drivers, seen.files);
        examination.ok(
            CHECK,
            format!("{place}: what drivers keep there can be read (drivers: {drivers}, files: {files}{more})"),
        );
    }
}

/// The first of them.
fn some(paths: &[(PathBuf, io::Error)]) -> String {
    let some = paths.iter().take(NAMED);
    let some: Vec<String> = some
        .map(|(path, error)| format!("{}: {error}", path.display()))
        .collect();
    some.join("; ")
}

impl Seen {
    /// What a directory has, without links, as far as there may be more.
    fn list(&mut self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(directory)? {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            let entry = entry?;
            if !entry.file_type()?.is_symlink() {
                found.push(entry.path());
            }
        }
        Ok(found)
    }

    fn driver(&mut self, plugin: &Path) {
        let metadata = plugin.join(METADATA);
        match fs::symlink_metadata(&metadata) {
            Ok(found) if found.is_dir() => {
                self.drivers += 1;
                // Below: claims, requests, and their files.
                self.below(&metadata, 3);
            }
            Ok(_) => {}
            // A plugin that keeps none, and sockets.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) => {}
            Err(error) => self.hidden.push((plugin.to_owned(), error)),
        }
    }

    fn below(&mut self, directory: &Path, depth: usize) {
        let entries = match self.list(directory) {
            Ok(entries) => entries,
            // A claim that has ended meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => return self.closed.push((directory.to_owned(), error)),
        };
        for entry in entries {
            if entry.is_dir() {
                if depth > 1 {
                    self.below(&entry, depth - 1);
                }
                continue;
            }
            match access(&entry, Access::READ_OK) {
                Ok(()) => self.files += 1,
                Err(rustix::io::Errno::NOENT) => {}
                Err(error) => self.closed.push((entry, error.into())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use examination::Verdict;

    fn verdict(directory: &Path) -> (Verdict, String) {
        let mut examination = Examination::new();
        examine(directory, &mut examination);
        let check = examination.checks.remove(0);
        (check.verdict, check.message)
    }

    #[test]
    fn what_drivers_keep_is_counted() {
        let plugins = tempfile::tempdir().unwrap();
        let place = plugins.path().display();
        let missing = plugins.path().join("none");
        assert_eq!(verdict(&missing).0, Verdict::Finding);
        fs::write(plugins.path().join("kubelet.sock"), "").unwrap();
        fs::create_dir(plugins.path().join("other")).unwrap();
        assert_eq!(verdict(plugins.path()).0, Verdict::Unknown);
        let claim = plugins.path().join("a.example.com").join(METADATA);
        for request in ["lab_nic/vf", "lab_gpu/gpu"] {
            let request = claim.join(request);
            fs::create_dir_all(&request).unwrap();
            fs::write(request.join("metadata.json"), "{}").unwrap();
        }
        let words = format!("{place}: what drivers keep there can be read (drivers: 1, files: 2)");
        assert_eq!(verdict(plugins.path()), (Verdict::Ok, words));
    }
}
