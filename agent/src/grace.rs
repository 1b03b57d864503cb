//! Interfaces that somebody has just set down.
//!
//! An interface joins a bond or a team while it is down (`bond_enslave` in `drivers/net/bonding/bond_main.c`): whoever
//! makes it a port sets it down and joins it in two steps. An agent that set it up between the two would keep it from
//! joining, so it waits a moment.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

/// How long an interface stays down.
const MOMENT: Duration = Duration::from_millis(1500);

/// Which interfaces were up, and since when those are down that no longer are.
#[derive(Debug, Default)]
pub struct Grace {
    up: BTreeSet<u32>,
    since: BTreeMap<u32, Instant>,
}

impl Grace {
    /// Notes which interfaces there are after a pass, and whether each is up.
    pub fn seen(&mut self, interfaces: &BTreeMap<u32, bool>, now: Instant) {
        // Also while the pass was at work.
        for index in &self.up {
            self.since.entry(*index).or_insert(now);
        }
        self.since
            .retain(|index, _| interfaces.get(index) == Some(&false));
        let up = interfaces.iter().filter(|(_, is_up)| **is_up);
        self.up = up.map(|(index, _)| *index).collect();
    }

    /// Whether an interface that is down was up a moment ago.
    pub fn is_recent(&mut self, index: u32, now: Instant) -> bool {
        if self.up.contains(&index) {
            self.since.entry(index).or_insert(now);
        }
        let since = self.since.get(&index);
        since.is_some_and(|since| now.saturating_duration_since(*since) < MOMENT)
    }

    /// When a moment is over next.
    pub fn over(&self, now: Instant) -> Option<Instant> {
        let over = self.since.values().map(|since| *since + MOMENT);
        over.filter(|over| *over > now).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_up_stays_down_for_a_moment_and_what_is_new_does_not() {
        let start = Instant::now();
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        let mut grace = Grace::default();
        assert!(!grace.is_recent(3, start));
        grace.seen(&BTreeMap::from([(3, true)]), start);
        assert!(grace.is_recent(3, start) && grace.is_recent(3, at(1499)));
        assert!(!grace.is_recent(4, start));
        // A pass that leaves it down tells nothing new.
        grace.seen(&BTreeMap::from([(3, false)]), at(1000));
        assert!(grace.is_recent(3, at(1499)));
        assert!(!grace.is_recent(3, at(1500)) && !grace.is_recent(3, at(9000)));
        grace.seen(&BTreeMap::from([(3, true)]), at(9000));
        assert!(grace.is_recent(3, at(10_000)));
        // Another interface may come to have the index of one that is gone.
        grace.seen(&BTreeMap::new(), at(10_000));
        assert!(!grace.is_recent(3, at(10_001)));
    }

    #[test]
    fn it_may_be_set_down_while_a_pass_is_at_work() {
        let start = Instant::now();
        let mut grace = Grace::default();
        grace.seen(&BTreeMap::from([(3, true)]), start);
        grace.seen(&BTreeMap::from([(3, false)]), start);
        assert!(grace.is_recent(3, start));
        assert_eq!(grace.over(start), Some(start + MOMENT));
        assert!(!grace.is_recent(3, start + MOMENT));
        assert_eq!(grace.over(start + MOMENT), None);
    }
}
