//! What a directory tree holds, to be compared before and after.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Every file of a tree with all that a program could change of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeState(BTreeMap<PathBuf, FileState>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct FileState {
    mode: u32,
    owner: (u32, u32),
    inode: u64,
    links: u64,
    modified: (i64, i64),
    /// Moves with whatever else can be changed: attributes, access lists, links.
    changed: (i64, i64),
    content: Vec<u8>,
}

impl TreeState {
    /// Looks at the tree below `root`, and at `root` itself.
    ///
    /// # Errors
    /// When something in it cannot be read.
    pub fn of(root: &Path) -> io::Result<Self> {
        let mut files = BTreeMap::new();
        let mut open = vec![root.to_owned()];
        while let Some(path) = open.pop() {
            let metadata = fs::symlink_metadata(&path)?;
            let kind = metadata.file_type();
            let content = if kind.is_file() {
                fs::read(&path)?
            } else if kind.is_symlink() {
                fs::read_link(&path)?.into_os_string().into_encoded_bytes()
            } else {
                Vec::new()
            };
            if kind.is_dir() {
                for entry in fs::read_dir(&path)? {
                    open.push(entry?.path());
                }
            }
            files.insert(
                path,
                FileState {
                    mode: metadata.mode(),
                    owner: (metadata.uid(), metadata.gid()),
                    inode: metadata.ino(),
                    links: metadata.nlink(),
                    modified: (metadata.mtime(), metadata.mtime_nsec()),
                    changed: (metadata.ctime(), metadata.ctime_nsec()),
                    content,
                },
            );
        }
        Ok(Self(files))
    }

    /// The same, whatever number of names its files have: a name outside the tree may go.
    #[must_use]
    pub fn whatever_names(mut self) -> Self {
        for file in self.0.values_mut() {
            file.links = 0;
            file.changed = (0, 0);
        }
        self
    }
}
