//! How often what the agent set may be set again, when something else keeps undoing it.
//!
//! A device may be repaired at once a few times. After that the agent waits, longer each time, and
//! says what is undone, how often, and who may be doing it: two programs that set one thing back and
//! forth are worse than either's setting.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use device_attributes::DeviceIdentity;
use tokio::time::Instant;

use crate::listing::listing;
use crate::numa::CpuList;
use crate::plan::Wanted;

/// How many repairs are made at once.
const BURST: u32 = 5;
/// After how long without a repair a device counts as calm again.
const CALM: Duration = Duration::from_mins(1);
/// The first wait; it doubles with each further repair.
const WAIT_FIRST: Duration = Duration::from_secs(5);
const WAIT_MOST: Duration = Duration::from_mins(5);

/// The most kinds of change that are told apart for one device.
const KINDS: usize = 8;

/// What every device was brought to, and how often that had to be done anew.
#[derive(Debug, Default)]
pub struct Damper {
    devices: BTreeMap<DeviceIdentity, Reached>,
}

/// What a device is in the midst of. In the midst of something else other things are to be done, and nobody has undone
/// anything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The CPUs near it, where it is pinned.
    pub near: Option<CpuList>,
    /// The index of the bond, bridge or VRF that it belongs to.
    pub controller: Option<u32>,
}

#[derive(Debug)]
struct Reached {
    wanted: Wanted,
    surroundings: Surroundings,
    history: Option<History>,
}

#[derive(Debug)]
struct History {
    since: Instant,
    last: Instant,
    repairs: u32,
    /// What had to be done anew, in words, and how often.
    undone: BTreeMap<String, u32>,
}

/// What may be done about a device that is not as wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It never was as wanted before: bring it there.
    Configure,
    /// It was; set it again.
    Repair,
    /// It was again and again: leave it for a while. The sentence says what is undone and how often.
    Wait(String),
}

impl Damper {
    /// Notes that a device is as wanted.
    pub fn reached(&mut self, wanted: &Wanted, surroundings: Surroundings) {
        match self.devices.get_mut(&wanted.identity) {
            Some(reached) if reached.is(wanted, &surroundings) => {}
            _ => {
                let reached = Reached {
                    wanted: wanted.clone(),
                    surroundings,
                    history: None,
                };
                self.devices.insert(wanted.identity.clone(), reached);
            }
        }
    }

    /// Judges a device that needs `steps`, each in words, to be as wanted.
    pub fn judge(
        &mut self,
        wanted: &Wanted,
        surroundings: &Surroundings,
        steps: impl IntoIterator<Item = String>,
        now: Instant,
    ) -> Verdict {
        let Some(reached) = self.devices.get_mut(&wanted.identity) else {
            return Verdict::Configure;
        };
        if !reached.is(wanted, surroundings) {
            return Verdict::Configure;
        }
        let history = reached.history.get_or_insert_with(|| History::new(now));
        let wait = history.wait();
        let quiet = now.saturating_duration_since(history.last);
        if history.repairs > 0 && quiet < wait {
            return Verdict::Wait(history.words());
        }
        if quiet >= CALM + wait {
            *history = History::new(now);
        }
        history.repairs = history.repairs.saturating_add(1);
        history.last = now;
        for step in steps {
            if history.undone.len() < KINDS || history.undone.contains_key(&step) {
                *history.undone.entry(step).or_default() += 1;
            }
        }
        Verdict::Repair
    }

    /// Keeps what is known of these devices only.
    pub fn retain(&mut self, wanted: &[Wanted]) {
        let wanted: BTreeSet<&DeviceIdentity> = wanted.iter().map(|it| &it.identity).collect();
        self.devices.retain(|identity, _| wanted.contains(identity));
    }
}

impl Reached {
    fn is(&self, wanted: &Wanted, surroundings: &Surroundings) -> bool {
        self.wanted == *wanted && self.surroundings == *surroundings
    }
}

impl History {
    fn new(now: Instant) -> Self {
        Self {
            since: now,
            last: now,
            repairs: 0,
            undone: BTreeMap::new(),
        }
    }

    /// How long the device is left alone after its last repair.
    fn wait(&self) -> Duration {
        match self.repairs.checked_sub(BURST) {
            None => Duration::ZERO,
            Some(doublings) => WAIT_FIRST
                .saturating_mul(2_u32.saturating_pow(doublings))
                .min(WAIT_MOST),
        }
    }

    fn words(&self) -> String {
        let undone = self
            .undone
            .iter()
            .map(|(step, times)| format!("{step} ({times} times)"));
        let seconds = self
            .last
            .saturating_duration_since(self.since)
            .as_secs()
            .max(1);
        format!(
            "something undoes it again and again: within {seconds} s the agent had to {}; it tries \
             again {} s after the last time",
            listing(undone),
            self.wait().as_secs()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(mtu: u32) -> Wanted {
        Wanted {
            mtu: Some(mtu),
            ..Wanted::default()
        }
    }

    fn judge(damper: &mut Damper, now: Instant) -> Verdict {
        damper.judge(
            &wanted(9000),
            &Surroundings::default(),
            ["set the MTU".to_owned()],
            now,
        )
    }

    #[test]
    fn a_device_that_never_was_as_wanted_is_never_held_up() {
        let mut damper = Damper::default();
        let now = Instant::now();
        for _ in 0..20 {
            assert_eq!(judge(&mut damper, now), Verdict::Configure);
        }
        damper.reached(&wanted(1400), Surroundings::default());
        assert_eq!(judge(&mut damper, now), Verdict::Configure);
    }

    #[test]
    fn repairs_come_at_once_and_then_ever_more_rarely() {
        let mut damper = Damper::default();
        damper.reached(&wanted(9000), Surroundings::default());
        let start = Instant::now();
        let mut repaired = Vec::new();
        for second in 0..400 {
            if judge(&mut damper, start + Duration::from_secs(second)) == Verdict::Repair {
                repaired.push(second);
            }
        }
        assert_eq!(repaired, [0, 1, 2, 3, 4, 9, 19, 39, 79, 159, 319]);
        let verdict = judge(&mut damper, start + Duration::from_secs(400));
        let Verdict::Wait(words) = verdict else {
            panic!("{verdict:?}")
        };
        assert_eq!(
            words,
            "something undoes it again and again: within 319 s the agent had to set the MTU (11 \
             times); it tries again 300 s after the last time"
        );
    }

    #[test]
    fn after_a_calm_time_all_is_forgotten() {
        let mut damper = Damper::default();
        damper.reached(&wanted(9000), Surroundings::default());
        let start = Instant::now();
        for _ in 0..5 {
            assert_eq!(judge(&mut damper, start), Verdict::Repair);
        }
        assert!(matches!(judge(&mut damper, start), Verdict::Wait(_)));
        let later = start + CALM + WAIT_FIRST;
        for _ in 0..5 {
            assert_eq!(judge(&mut damper, later), Verdict::Repair);
        }
    }

    #[test]
    fn another_wish_begins_anew_and_a_device_that_is_gone_is_forgotten() {
        let mut damper = Damper::default();
        damper.reached(&wanted(9000), Surroundings::default());
        let now = Instant::now();
        for _ in 0..6 {
            judge(&mut damper, now);
        }
        damper.reached(&wanted(1400), Surroundings::default());
        damper.reached(&wanted(9000), Surroundings::default());
        assert_eq!(judge(&mut damper, now), Verdict::Repair);
        damper.retain(&[]);
        assert_eq!(judge(&mut damper, now), Verdict::Configure);
    }

    #[test]
    fn in_the_midst_of_something_else_nothing_was_undone() {
        let mut damper = Damper::default();
        let (wanted, now) = (wanted(9000), Instant::now());
        let around = |cpus: &str, controller| Surroundings {
            near: Some(cpus.parse().unwrap()),
            controller,
        };
        let steps = || ["set the CPUs".to_owned()];
        for (cpus, controller) in [
            ("2-3", None),
            ("2", None),
            ("2-3", Some(9)),
            ("2-3", None),
            ("2-4", None),
            ("2-3", Some(9)),
            ("2-3", Some(8)),
        ] {
            let surroundings = around(cpus, controller);
            let verdict = damper.judge(&wanted, &surroundings, steps(), now);
            assert_eq!(verdict, Verdict::Configure);
            damper.reached(&wanted, surroundings);
        }
        let verdict = damper.judge(&wanted, &around("2-3", Some(8)), steps(), now);
        assert_eq!(verdict, Verdict::Repair);
    }
}
