//! Which metadata files changed, by inotify on their directories.

use std::collections::{BTreeSet, HashMap};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use super::Kept;
use super::volume::Kubelet;

/// The most bytes of events that are read at once.
const EVENTS: usize = 4096;

/// The watches of all containers.
#[derive(Debug)]
pub(super) struct Watches {
    inotify: OwnedFd,
    /// Which containers have files in a directory that is watched.
    containers: HashMap<i32, BTreeSet<String>>,
}

/// What changed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Changed {
    /// Files of these containers.
    Some(BTreeSet<String>),
    /// The kernel has lost count.
    Perhaps,
}

impl Watches {
    pub(super) fn new() -> rustix::io::Result<Self> {
        Ok(Self {
            inotify: inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?,
            containers: HashMap::new(),
        })
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }

    /// Watches the directories of a container's metadata; what cannot be watched is looked at now and then anyway.
    pub(super) fn add(&mut self, kept: &Kept, kubelet: &Kubelet) {
        for metadata in &kept.metadata {
            // A link put on the way in the meantime could make it watch another directory, and no more than that: what is
            // read is opened below the kubelet's directory each time.
            let directory = metadata.source.parent().unwrap_or(&metadata.source);
            let added = match kubelet.metadata_directory(&metadata.source) {
                Ok(_) => {
                    let wanted =
                        WatchFlags::CLOSE_WRITE | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR;
                    inotify::add_watch(&self.inotify, directory, wanted)
                        .map_err(|error| error.to_string())
                }
                Err(error) => Err(error.to_string()),
            };
            match added {
                Ok(watch) => {
                    self.containers
                        .entry(watch)
                        .or_default()
                        .insert(kept.id.clone());
                }
                Err(error) => tracing::warn!(
                    "{}: {} is not watched, and looked at once a minute: {error}",
                    kept.shown(),
                    metadata.source.display()
                ),
            }
        }
    }

    /// Watches for a container no longer.
    pub(super) fn remove(&mut self, id: &str) {
        let inotify = &self.inotify;
        self.containers.retain(|watch, containers| {
            containers.remove(id);
            if containers.is_empty() {
                // A directory that is gone has no watch any more.
                let _ = inotify::remove_watch(inotify, *watch);
            }
            !containers.is_empty()
        });
    }

    /// What changed since the last call.
    pub(super) fn changed(&mut self) -> Changed {
        let mut changed = BTreeSet::new();
        let mut buffer = [MaybeUninit::uninit(); EVENTS];
        let mut reader = inotify::Reader::new(&self.inotify, &mut buffer);
        loop {
            match reader.next() {
                Ok(event) if event.events().contains(ReadFlags::QUEUE_OVERFLOW) => {
                    return Changed::Perhaps;
                }
                Ok(event) if event.events().contains(ReadFlags::IGNORED) => {
                    // The directory is gone, and the number may be given again.
                    self.containers.remove(&event.wd());
                }
                Ok(event) => changed.extend(
                    self.containers
                        .get(&event.wd())
                        .into_iter()
                        .flatten()
                        .cloned(),
                ),
                Err(Errno::INTR) => {}
                Err(_) => return Changed::Some(changed),
            }
        }
    }
}
