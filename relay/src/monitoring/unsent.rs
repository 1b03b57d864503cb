//! Which claims have a word that is not written yet, and since when.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

static WAITING: Mutex<BTreeMap<u64, Instant>> = Mutex::new(BTreeMap::new());
static NEXT: AtomicU64 = AtomicU64::new(0);

/// The words of one claim. When it is dropped nothing of the claim is waited for any more.
#[derive(Debug)]
pub struct Unsent(u64);

impl Unsent {
    /// Nothing waits yet.
    pub fn new() -> Self {
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// A word waits from now on; when one waits already, since that one.
    pub fn begin(&self) {
        waiting().entry(self.0).or_insert_with(Instant::now);
    }

    /// All is written. For how long it has waited, if anything did.
    pub fn end(&self) -> Option<Duration> {
        waiting().remove(&self.0).map(|since| since.elapsed())
    }
}

impl Default for Unsent {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Unsent {
    fn drop(&mut self) {
        waiting().remove(&self.0);
    }
}

/// How many claims wait, and for how long the oldest.
pub fn state() -> (usize, Duration) {
    let waiting = waiting();
    let oldest = waiting.values().min().map(Instant::elapsed);
    (waiting.len(), oldest.unwrap_or_default())
}

fn waiting() -> MutexGuard<'static, BTreeMap<u64, Instant>> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_word_counts_until_it_is_written() {
        let (one, two) = (Unsent::new(), Unsent::new());
        assert_eq!(one.end(), None);
        one.begin();
        std::thread::sleep(Duration::from_millis(20));
        one.begin();
        two.begin();
        let (claims, oldest) = state();
        assert!(claims >= 2 && oldest >= Duration::from_millis(20));
        assert!(
            one.end()
                .is_some_and(|waited| waited >= Duration::from_millis(20))
        );
        assert_eq!(one.end(), None);
        assert!(waiting().contains_key(&two.0));
        let id = two.0;
        drop(two);
        assert!(!waiting().contains_key(&id));
    }
}
