//! What is there after a run: the document in the VM mount, and the canary outside the container.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use super::{Container, names};

/// What a program could change of a file.
#[derive(Debug, PartialEq, Eq)]
pub struct FileState {
    path: PathBuf,
    content: Vec<u8>,
    inode: u64,
    mode: u32,
    owner: (u32, u32),
    modified: (i64, i64),
}

/// The canary and its files.
pub fn canary(container: &Container) -> Vec<FileState> {
    let directory = container.path("canary");
    let mut paths = vec![directory.clone()];
    paths.extend(names(&directory).iter().map(|name| directory.join(name)));
    paths
        .into_iter()
        .map(|path| {
            let stat = fs::symlink_metadata(&path).unwrap();
            FileState {
                content: fs::read(&path).unwrap_or_default(),
                inode: stat.ino(),
                mode: stat.mode(),
                owner: (stat.uid(), stat.gid()),
                modified: (stat.mtime(), stat.mtime_nsec()),
                path,
            }
        })
        .collect()
}

/// The VM mount holds one document, of the right mode and owner.
#[track_caller]
pub fn assert_written(container: &Container) {
    let file = container.path("vm/device-attributes.json");
    let stat = fs::symlink_metadata(&file).unwrap();
    assert!(stat.is_file());
    assert_eq!(stat.mode() & 0o7777, 0o644);
    assert_eq!(stat.uid(), rustix::process::geteuid().as_raw());
    assert!(
        fs::read_to_string(file)
            .unwrap()
            .starts_with("{\n  \"apiVersion\": \"dra-guest/v1\"")
    );
    assert_eq!(container.vm_files(), ["device-attributes.json"]);
}
