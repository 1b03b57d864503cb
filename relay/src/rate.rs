//! A bound on how often something may happen: what comes faster waits.

use std::time::Duration;

use tokio::time::Instant;

/// A bucket of permissions that fills steadily.
#[derive(Debug)]
pub struct Rate {
    /// The time in which one permission grows.
    interval: Duration,
    /// How many may be saved up, as time.
    burst: Duration,
    /// When the bucket would have been empty if all permissions had been taken evenly.
    spent_until: Instant,
}

impl Rate {
    /// `burst` at once, and one each `interval` from then on.
    pub fn new(interval: Duration, burst: u32) -> Self {
        let burst = interval * burst;
        let now = Instant::now();
        Self {
            interval,
            burst,
            spent_until: now.checked_sub(burst).unwrap_or(now),
        }
    }

    /// Takes `count` permissions, and says when they are there: now or later.
    pub fn take(&mut self, count: u32) -> Instant {
        let now = Instant::now();
        let full = now.checked_sub(self.burst).unwrap_or(now);
        self.spent_until = self.spent_until.max(full) + self.interval * count;
        self.spent_until.max(now)
    }

    /// Takes a permission if one is there.
    pub fn try_take(&mut self) -> bool {
        let now = Instant::now();
        let full = now.checked_sub(self.burst).unwrap_or(now);
        let spent_until = self.spent_until.max(full) + self.interval;
        let there = spent_until <= now;
        if there {
            self.spent_until = spent_until;
        }
        there
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_passes_and_the_rest_is_spread() {
        let mut rate = Rate::new(Duration::from_millis(50), 10);
        let start = Instant::now();
        for _ in 0..10 {
            assert_eq!(rate.take(1), start);
        }
        assert_eq!(rate.take(1), start + Duration::from_millis(50));
        assert_eq!(rate.take(4), start + Duration::from_millis(250));
        assert!(!rate.try_take());
        tokio::time::sleep(Duration::from_hours(1)).await;
        let later = Instant::now();
        for _ in 0..10 {
            assert!(rate.try_take());
        }
        assert!(!rate.try_take());
        assert_eq!(rate.take(1), later + Duration::from_millis(50));
    }
}
