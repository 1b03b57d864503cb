//! The thread that keeps documents up to date, and how it is told of containers.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use dra_cdi_hook::keep_up;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use super::volume::Kubelet;
use super::watch::{Changed, Watches};
use super::{Kept, document};
use crate::relay::Relay;

/// What follows within this time is taken together: a driver writes the files of several requests.
const SETTLE: Duration = Duration::from_millis(100);
/// When a file is looked at again that was only half written.
const UNFINISHED: Duration = Duration::from_secs(1);
/// When a new container's files are looked at: a driver may have written between its hook and the first watch.
const FIRST_LOOK: Duration = Duration::from_secs(2);
/// How often all files are looked at, for what no watch tells: a directory made anew, the relay's answers.
const LOOK: Duration = Duration::from_mins(1);
/// The most containers: many times what a node runs.
const CONTAINERS: usize = 4096;
const STACK: usize = 512 << 10;

/// Tells the thread.
#[derive(Debug)]
pub struct Keeper {
    told: Arc<Told>,
}

#[derive(Debug)]
struct Told {
    /// By container: it is to be kept, or forgotten. Never more than there are containers.
    news: Mutex<BTreeMap<String, Option<Kept>>>,
    /// All others are to be forgotten.
    only: Mutex<Option<Vec<Kept>>>,
    wake: OwnedFd,
}

impl Keeper {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn start(kubelet: &Path, relay: Option<Relay>) -> io::Result<Self> {
        let told = Arc::new(Told {
            news: Mutex::default(),
            only: Mutex::default(),
            wake: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        });
        let mut thread = Thread {
            told: Arc::clone(&told),
            watches: Watches::new()?,
            kubelet: Kubelet::new(kubelet),
            relay,
            containers: HashMap::new(),
        };
        thread::Builder::new()
            .name("refresh".to_owned())
            .stack_size(STACK)
            .spawn(move || thread.run())?;
        Ok(Self { told })
    }

    /// Keeps a container's document up to date from now on.
    pub fn keep(&self, kept: Kept) {
        self.tell(kept.id.clone(), Some(kept));
    }

    /// A container is gone.
    pub fn forget(&self, id: &str) {
        self.tell(id.to_owned(), None);
    }

    /// These are all that there are.
    pub fn keep_only(&self, all: Vec<Kept>) {
        self.told
            .news
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
        *self
            .told
            .only
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(all);
        self.wake();
    }

    fn tell(&self, id: String, news: Option<Kept>) {
        let mut all = self
            .told
            .news
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if all.len() < CONTAINERS || all.contains_key(&id) {
            all.insert(id, news);
        }
        drop(all);
        self.wake();
    }

    fn wake(&self) {
        // It can only fail where the thread is to wake already.
        let _ = rustix::io::write(&self.told.wake, &1_u64.to_ne_bytes());
    }
}

struct Thread {
    told: Arc<Told>,
    watches: Watches,
    kubelet: Kubelet,
    relay: Option<Relay>,
    containers: HashMap<String, Entry>,
}

/// A container, and when its document is to be made next.
struct Entry {
    kept: Kept,
    due: Instant,
    /// What was said last of why it is not.
    said: String,
}

impl Thread {
    fn run(&mut self) {
        loop {
            self.wait();
            self.hear();
            match self.watches.changed() {
                Changed::Some(ids) => {
                    let due = Instant::now() + SETTLE;
                    for id in ids {
                        if let Some(entry) = self.containers.get_mut(&id) {
                            entry.due = entry.due.min(due);
                        }
                    }
                }
                Changed::Perhaps => {
                    let now = Instant::now();
                    self.containers
                        .values_mut()
                        .for_each(|entry| entry.due = now);
                }
            }
            self.make_what_is_due();
        }
    }

    /// Waits for news, for a change, or until a document is due.
    fn wait(&self) {
        let next = self.containers.values().map(|entry| entry.due).min();
        let left = next.map(|next| next.saturating_duration_since(Instant::now()));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        let mut ready = [
            PollFd::new(&self.told.wake, PollFlags::IN),
            PollFd::from_borrowed_fd(self.watches.descriptor(), PollFlags::IN),
        ];
        if let Err(error) = poll(&mut ready, left.as_ref())
            && error != rustix::io::Errno::INTR
        {
            tracing::error!("waiting for changes fails: {error}");
            thread::sleep(UNFINISHED);
        }
        let mut count = [0; 8];
        // Empty where nobody has called.
        let _ = rustix::io::read(&self.told.wake, &mut count);
    }

    fn hear(&mut self) {
        let only = self
            .told
            .only
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(all) = only {
            let gone: Vec<String> = self.containers.keys().cloned().collect();
            for id in &gone {
                self.forget(id);
                if all.iter().all(|kept| kept.id != *id) {
                    self.forget_answer(id);
                }
            }
            // A driver may have written while nobody looked.
            for kept in all {
                self.keep(kept, Duration::ZERO);
            }
        }
        let news = std::mem::take(
            &mut *self
                .told
                .news
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
        for (id, news) in news {
            self.forget(&id);
            match news {
                Some(kept) => self.keep(kept, FIRST_LOOK),
                None => self.forget_answer(&id),
            }
        }
    }

    fn keep(&mut self, kept: Kept, after: Duration) {
        if self.containers.len() >= CONTAINERS {
            tracing::warn!(
                "{}: its document is not kept up to date: there are {CONTAINERS} already",
                kept.shown()
            );
            return;
        }
        self.watches.add(&kept, &self.kubelet);
        let entry = Entry {
            due: Instant::now() + after,
            said: String::new(),
            kept,
        };
        self.containers.insert(entry.kept.id.clone(), entry);
    }

    fn forget(&mut self, id: &str) {
        if self.containers.remove(id).is_some() {
            self.watches.remove(id);
        }
    }

    /// It was removed when the container was: its document may have been in the making then, with another answer.
    fn forget_answer(&self, id: &str) {
        if let Some(relay) = &self.relay {
            relay.forget(id);
        }
    }

    fn make_what_is_due(&mut self) {
        let now = Instant::now();
        let mut gone = Vec::new();
        for (id, entry) in &mut self.containers {
            if entry.due > now {
                continue;
            }
            entry.due = now + LOOK;
            let shown = entry.kept.shown();
            let volume = match self.kubelet.volume(&entry.kept.pod, &entry.kept.volume) {
                Ok(volume) => volume,
                Err(error) => {
                    if !error.is_gone() {
                        tracing::warn!("{shown}: its document is not kept up to date: {error}");
                    }
                    gone.push(id.clone());
                    continue;
                }
            };
            let made = document::make(&entry.kept, &self.kubelet, self.relay.as_ref());
            if made
                .as_ref()
                .is_err_and(document::DocumentError::may_be_unfinished)
            {
                entry.due = now + UNFINISHED;
            }
            let written = made
                .map_err(|error| error.to_string())
                .and_then(|document| {
                    keep_up::write(&volume, &document).map_err(|error| error.to_string())
                });
            match written {
                Ok(written) => {
                    entry.said.clear();
                    if written {
                        tracing::info!("{shown}: its document is written anew");
                    }
                }
                Err(words) => {
                    if words != entry.said {
                        tracing::warn!("{shown}: its document stays as it is: {words}");
                        entry.said = words;
                    }
                }
            }
        }
        for id in &gone {
            self.forget(id);
        }
    }
}
