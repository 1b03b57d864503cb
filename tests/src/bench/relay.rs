//! The relay of a node with 250 guests, against bare server-side applies of the same size to the same API server.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};

use super::bare_applies::{self, BareApplies};
use super::relay_figures::{Idle, Latencies, RelayFigures, Requests};
use crate::cluster::ControlPlane;
use crate::relay::fleet::Fleet;
use crate::relay::guest::Guest;

/// More VMs than a node has pods by the kubelet's default, 110.
const GUESTS: u32 = 250;
/// As when a node's VMs all boot within ten seconds.
const SPACING: Duration = Duration::from_millis(40);
/// How often every guest changes in turn, one after the other.
const ROUNDS: u32 = 2;
const IDLE: Duration = Duration::from_secs(30);
const HEARTBEAT: Duration = Duration::from_secs(10);

/// A node of 250 VMs.
#[derive(Debug)]
pub struct RelayBench<'a> {
    fleet: Fleet<'a>,
    bare: BareApplies,
}

impl<'a> RelayBench<'a> {
    /// The control plane that a bench needs.
    ///
    /// # Errors
    /// When it does not start.
    pub fn control_plane() -> Result<ControlPlane> {
        ControlPlane::with_kubevirt("bench")
    }

    /// Makes the VMs, and starts the relay.
    ///
    /// # Errors
    /// When the API server or the relay does not do as it is asked. So for all that follows.
    pub fn new(control: &'a ControlPlane) -> Result<Self> {
        let node = "bench";
        let fleet = Fleet::start(control, node, GUESTS, 0)?;
        let bare = BareApplies::new(control.admin(), fleet.as_relay().clone(), node)?;
        Ok(Self { fleet, bare })
    }

    /// Measures.
    ///
    /// # Errors
    /// See [`RelayBench::new`]; when a condition does not stand where it should.
    pub fn measure(&self) -> Result<RelayFigures> {
        // The last guest is known when all are.
        drop(self.fleet.guest(GUESTS - 1)?);
        let memory_before = self.fleet.memory()?;
        let guests = self.fleet.numbers().map(|number| self.fleet.guest(number));
        let guests: Vec<Mutex<Guest>> = guests
            .map(|guest| guest.map(Mutex::new))
            .collect::<Result<_>>()?;

        // The connections to the API server are made, on both sides.
        let mut words = Words::default();
        let start = self.requests()?;
        let (first, bare_first) = self.spread(&guests, words.next(), SPACING)?;
        let memory = self.fleet.memory()?;
        let after_first = self.requests()?;
        let processor = self.fleet.processor_time()?;
        let (steady, bare_steady) = self.in_turn(&guests, &mut words)?;
        let (spread, bare_spread) = self.spread(&guests, words.next(), SPACING)?;
        let burst = self.burst(&guests, words.next())?;
        let bare_burst = self.bare.many(GUESTS)?;
        let after = self.requests()?;
        let processor = self.fleet.processor_time()?.saturating_sub(processor);
        let changes = GUESTS * (words.0 - 1);
        Ok(RelayFigures {
            memory_before,
            memory,
            memory_after: self.fleet.memory()?,
            cases: vec![
                ("one after the other", steady, bare_steady),
                ("25 a second", spread, bare_spread),
                ("250 at once", burst, bare_burst),
                ("25 a second, the first word of each", first, bare_first),
            ],
            first: start.until(after_first, GUESTS),
            further: after_first.until(after, changes),
            processor: processor / changes,
            idle: self.idle(&guests)?,
        })
    }

    /// Every guest reports once, each a little later than the one before, while somebody else applies now and then.
    fn spread(
        &self,
        guests: &[Mutex<Guest>],
        word: u32,
        spacing: Duration,
    ) -> Result<(Latencies, Latencies)> {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let bare = scope.spawn(|| -> Result<Latencies> {
                let mut times = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    times.push(self.bare.one(times.len())?);
                    thread::sleep(2 * spacing);
                }
                Ok(Latencies::of(times))
            });
            let begin = Instant::now();
            let times = self.all(guests, word, |number| {
                thread::sleep((begin + spacing * number).saturating_duration_since(Instant::now()));
            });
            stop.store(true, Ordering::Relaxed);
            Ok((times?, joined(bare)?))
        })
    }

    /// Every guest reports at the same time.
    fn burst(&self, guests: &[Mutex<Guest>], word: u32) -> Result<Latencies> {
        let barrier = Barrier::new(guests.len());
        self.all(guests, word, |_| {
            barrier.wait();
        })
    }

    /// Every guest reports, after `wait`; then all of it has to stand on the claims.
    fn all(
        &self,
        guests: &[Mutex<Guest>],
        word: u32,
        wait: impl Fn(u32) + Sync,
    ) -> Result<Latencies> {
        let wait = &wait;
        let times = thread::scope(|scope| {
            let threads: Vec<_> = (0..)
                .zip(guests)
                .map(|(number, guest)| {
                    scope.spawn(move || {
                        wait(number);
                        self.report(guest, number, word)
                    })
                })
                .collect();
            threads.into_iter().map(joined).collect::<Result<Vec<_>>>()
        })?;
        for number in self.fleet.numbers() {
            self.fleet.wait_for_word(number, word)?;
        }
        Ok(Latencies::of(times))
    }

    /// One guest after the other reports, and a bare apply in turn with them, so that a slow moment meets both.
    fn in_turn(
        &self,
        guests: &[Mutex<Guest>],
        words: &mut Words,
    ) -> Result<(Latencies, Latencies)> {
        let (mut times, mut bare) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let word = words.next();
            for (number, guest) in (0..).zip(guests) {
                bare.push(self.bare.one(bare.len())?);
                times.push(self.report(guest, number, word)?);
                // It is readable when the relay says so.
                let now = self.fleet.word_of(number)?;
                ensure!(
                    now == word,
                    "guest {number} has said {word}, and its claim has {now}"
                );
            }
        }
        Ok((Latencies::of(times), Latencies::of(bare)))
    }

    /// The time from a report to the relay's word that the condition is written: whoever reads the claim then finds it.
    fn report(&self, guest: &Mutex<Guest>, number: u32, word: u32) -> Result<Duration> {
        let mut guest = guest.lock().unwrap_or_else(PoisonError::into_inner);
        let mut report = self.fleet.word(number, word);
        // Ready in one word, and not in the next.
        if word.is_multiple_of(2)
            && let Some(report) = report.as_object_mut()
        {
            report.insert("ready".to_owned(), false.into());
            report.insert("reason".to_owned(), "Pending".into());
            let words = report.get("interfaceName").cloned().unwrap_or_default();
            report.insert("message".to_owned(), words);
        }
        let begin = Instant::now();
        let problems = guest.report(word.into(), &report)?;
        let took = begin.elapsed();
        ensure!(problems.is_null(), "guest {number}: {problems}");
        Ok(took)
    }

    fn idle(&self, guests: &[Mutex<Guest>]) -> Result<Idle> {
        // Events may still be under way.
        thread::sleep(Duration::from_secs(2));
        let before = self.fleet.asked()?.len();
        let begin = Instant::now();
        while begin.elapsed() < IDLE {
            for guest in guests {
                guest
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .heartbeat()?;
            }
            thread::sleep(HEARTBEAT);
        }
        let time = begin.elapsed();
        let asked = self.fleet.asked()?.split_off(before);
        let watches = asked.iter().filter(|asked| asked.verb == "watch").count();
        Ok(Idle {
            time,
            requests: asked.len() - watches,
            watches,
        })
    }

    /// What the relay has asked for its VMs until now.
    fn requests(&self) -> Result<Requests> {
        let mut requests = Requests::default();
        for asked in self.fleet.asked()? {
            if asked.name.starts_with(bare_applies::PREFIX) {
                continue;
            }
            match (asked.resource.as_str(), asked.verb.as_str()) {
                ("resourceclaims", "get") => requests.reads += 1,
                ("resourceclaims/status", "patch") => requests.applies += 1,
                ("events", _) => requests.events += 1,
                _ => {}
            }
        }
        Ok(requests)
    }
}

/// The words of all guests, so that each is another one than before.
#[derive(Default)]
struct Words(u32);

impl Words {
    fn next(&mut self) -> u32 {
        self.0 += 1;
        self.0
    }
}

/// What a thread has brought.
pub(super) fn joined<T>(thread: thread::ScopedJoinHandle<'_, Result<T>>) -> Result<T> {
    thread
        .join()
        .map_err(|_| anyhow!("a thread of the bench has panicked"))?
}
