//! Hands a guest's newest connection to its task; an older one that was not taken yet is closed.

use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

/// A place for one thing, which a newer one takes.
#[derive(Debug, Default)]
pub struct Mailbox<T> {
    newest: Mutex<Option<T>>,
    arrived: Notify,
}

impl<T> Mailbox<T> {
    /// An empty one.
    pub fn new() -> Self {
        Self {
            newest: Mutex::new(None),
            arrived: Notify::new(),
        }
    }

    /// Puts a thing in, and drops the one that is there.
    pub fn put(&self, item: T) {
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = Some(item);
        self.arrived.notify_one();
    }

    /// Waits for the next thing. Nothing is lost when the wait is broken off.
    pub async fn take(&self) -> T {
        loop {
            let newest = self
                .newest
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            if let Some(item) = newest {
                return item;
            }
            self.arrived.notified().await;
        }
    }
}
