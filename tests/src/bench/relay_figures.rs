//! What the bench of the relay measures.

use std::time::Duration;

use crate::relay::resources::Memory;

/// Times of one kind, shortest first.
#[derive(Debug, Clone, Default)]
pub struct Latencies(Vec<Duration>);

/// What was measured.
#[derive(Debug, Clone)]
pub struct RelayFigures {
    /// The relay's memory when it knows the guests, and none is connected.
    pub memory_before: Memory,
    /// When all have reported.
    pub memory: Memory,
    /// After all of it.
    pub memory_after: Memory,
    /// Each case: its name, the relay's times from a report to the condition being readable, and those of bare applies in
    /// the same time.
    pub cases: Vec<(&'static str, Latencies, Latencies)>,
    /// For the first words, which take a read of the claim.
    pub first: Requests,
    /// For all further changes.
    pub further: Requests,
    /// The relay's time on a processor for each of these.
    pub processor: Duration,
    /// While nothing changes.
    pub idle: Idle,
}

/// Requests that the relay made for changes of readiness.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Requests {
    /// How often a guest's readiness changed.
    pub changes: u32,
    /// Reads of claims.
    pub reads: u32,
    /// Applies to claims.
    pub applies: u32,
    /// Creates and patches of Events.
    pub events: u32,
}

/// What was asked of the API server while guests said only that they live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Idle {
    /// How long.
    pub time: Duration,
    /// Requests, watches aside.
    pub requests: usize,
    /// Watches that were begun.
    pub watches: usize,
}

impl Latencies {
    /// The time that a share of all, in percent, does not exceed.
    pub fn percentile(&self, percent: usize) -> Duration {
        let last = self.0.len().saturating_sub(1);
        let index = (self.0.len() * percent).div_ceil(100).saturating_sub(1);
        self.0.get(index.min(last)).copied().unwrap_or_default()
    }

    /// Those that were taken.
    pub(super) fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }
}

impl Requests {
    /// What came from then to `later`, for so many changes.
    pub(super) fn until(self, later: Self, changes: u32) -> Self {
        Self {
            changes,
            reads: later.reads - self.reads,
            applies: later.applies - self.applies,
            events: later.events - self.events,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_times_that_were_taken() {
        let times = Latencies::of((1..=200).rev().map(Duration::from_millis).collect());
        assert_eq!(times.percentile(50), Duration::from_millis(100));
        assert_eq!(times.percentile(99), Duration::from_millis(198));
        assert_eq!(times.percentile(100), Duration::from_millis(200));
        assert_eq!(Latencies::default().percentile(99), Duration::ZERO);
    }
}
