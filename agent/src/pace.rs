//! How often something may happen: a few times at once, and then steadily (a token bucket).

use std::time::Duration;

use tokio::time::Instant;

/// A bucket of so many tokens, to which one is added every so often.
#[derive(Debug)]
pub struct Pace {
    /// When the bucket would be full if nothing were taken.
    full_at: Instant,
    burst: u32,
    every: Duration,
}

impl Pace {
    /// A full bucket.
    pub fn new(burst: u32, every: Duration) -> Self {
        Self {
            full_at: Instant::now(),
            burst,
            every,
        }
    }

    /// When the next token is there; in the past when one is there now.
    pub fn next(&self) -> Instant {
        let most = self.every * self.burst.saturating_sub(1);
        // Before the clock began there was enough time for all of them.
        self.full_at.checked_sub(most).unwrap_or(self.full_at)
    }

    /// Takes a token.
    pub fn take(&mut self) {
        self.full_at = self.full_at.max(Instant::now()) + self.every;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::sleep_until;

    #[tokio::test(start_paused = true)]
    async fn a_burst_and_then_a_steady_pace() {
        // A clock of its own: it stands still until somebody sleeps.
        let start = Instant::now();
        let mut pace = Pace::new(3, Duration::from_secs(1));
        let mut taken = Vec::new();
        for _ in 0..6 {
            sleep_until(pace.next()).await;
            pace.take();
            taken.push(start.elapsed().as_secs());
        }
        assert_eq!(taken, [0, 0, 0, 1, 2, 3]);
        tokio::time::sleep(Duration::from_mins(1)).await;
        for _ in 0..4 {
            sleep_until(pace.next()).await;
            pace.take();
            taken.push(start.elapsed().as_secs());
        }
        assert_eq!(taken[6..], [63, 63, 63, 64]);
    }
}
