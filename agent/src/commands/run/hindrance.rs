//! Why a pass could not be made, and for how long that says nothing of the devices.

use std::time::Duration;

use tokio::time::Instant;

/// How long what the last pass found stands while none can be made. A storm of foreign interfaces, in which the
/// kernel gives no whole list, is over by then; three probes of the kubelet by its default fit in it.
const STANDS: Duration = Duration::from_secs(30);

/// Why passes cannot be made.
#[derive(Debug)]
pub(super) struct Hindrance {
    /// Of the last one.
    pub(super) message: String,
    /// When the first failed.
    since: Instant,
}

impl Hindrance {
    /// After a pass that could not be made; `before` is that of the one before it.
    pub(super) fn next(before: Option<&Self>, message: String, now: Instant) -> Self {
        let since = before.map_or(now, |before| before.since);
        Self { message, since }
    }

    /// Whether nobody can say any more that the devices are as they were found.
    pub(super) fn outweighs(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) >= STANDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_stands_for_a_while_from_the_first_failure_on() {
        let start = Instant::now();
        let first = Hindrance::next(None, "one".into(), start);
        let at = |seconds| start + Duration::from_secs(seconds);
        assert!(!first.outweighs(start) && !first.outweighs(at(29)));
        let second = Hindrance::next(Some(&first), "two".into(), at(20));
        assert_eq!(second.message, "two");
        assert!(!second.outweighs(at(29)) && second.outweighs(at(30)));
        let anew = Hindrance::next(None, "three".into(), at(40));
        assert!(!anew.outweighs(at(69)));
    }
}
