//! A relay that is killed again and again while guests report.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, ensure};
use dra_guest_tests::cluster::ControlPlane;
use dra_guest_tests::relay::fleet::Fleet;
use dra_guest_tests::wait;

const GUESTS: u32 = 6;
const KILLS: u32 = 20;

/// A guest as the relay hears it.
#[derive(Default)]
struct Spoken {
    /// The last word that it has begun to say.
    said: AtomicU32,
    /// The last word of which the relay has said that it is written.
    written: AtomicU32,
}

pub fn at_any_moment(control: &mut ControlPlane) -> Result<()> {
    // One more, whose guest never says a word.
    let fleet = Fleet::start(control, "killed", GUESTS + 1, 0)?;
    let spoken: [Spoken; GUESTS as usize] = Default::default();
    let seed = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos();
    let mut moments = Moments(u64::try_from(seed & u128::from(u64::MAX))? | 1);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| -> Result<()> {
        let guests: Vec<_> = (0..GUESTS)
            .zip(&spoken)
            .map(|(number, spoken)| {
                let (fleet, stop) = (&fleet, &stop);
                scope.spawn(move || speak(fleet, number, spoken, stop))
            })
            .collect();
        let killed = (0..KILLS).try_for_each(|kill| {
            kill_once(&fleet, &spoken, kill, &mut moments)
                .with_context(|| format!("kill {kill}, seed {seed}"))
        });
        stop.store(true, Ordering::Relaxed);
        for guest in guests {
            guest.join().unwrap()?;
        }
        killed
    })?;
    for (number, spoken) in (0..GUESTS).zip(&spoken) {
        let said = spoken.said.load(Ordering::Relaxed);
        fleet.wait_for_word(number, said)?;
        // Guests have gone on between the kills, and did not only begin.
        ensure!(said > KILLS / 2, "guest {number} has said {said} words");
    }
    ensure!(fleet.condition(GUESTS)?.is_none(), "a word of nobody");
    Ok(())
}

/// Lets the relay live for a while, kills it, and holds that what it has called written stands on the claims.
fn kill_once(fleet: &Fleet<'_>, spoken: &[Spoken], kill: u32, moments: &mut Moments) -> Result<()> {
    if kill.is_multiple_of(2) {
        // In the midst of its work; the others are killed as early as it comes.
        let sum = || -> u32 {
            spoken
                .iter()
                .map(|one| one.written.load(Ordering::Relaxed))
                .sum()
        };
        let before = sum();
        wait::until("a word that is written", wait::PATIENCE, || {
            Ok((sum() > before).then_some(()))
        })?;
    }
    thread::sleep(moments.next(300));
    let written: Vec<u32> = spoken
        .iter()
        .map(|one| one.written.load(Ordering::Relaxed))
        .collect();
    fleet.kill_relay()?;
    for ((number, written), spoken) in (0..).zip(written).zip(spoken) {
        let word = fleet.word_of(number)?;
        ensure!(
            word >= written,
            "guest {number}: word {written} was written, and the claim has {word}"
        );
        let said = spoken.said.load(Ordering::Relaxed);
        ensure!(
            word <= said,
            "guest {number}: the claim has word {word} before it was said"
        );
    }
    fleet.start_relay()
}

/// A guest whose state changes all the time, and who says it as the agent does: again on each new connection, until it
/// is acknowledged.
fn speak(fleet: &Fleet<'_>, number: u32, spoken: &Spoken, stop: &AtomicBool) -> Result<()> {
    loop {
        let mut guest = fleet.guest(number)?;
        let mut word = spoken.said.load(Ordering::Relaxed).max(1);
        loop {
            spoken.said.store(word, Ordering::Relaxed);
            let Ok(problems) = guest.report(word.into(), &fleet.word(number, word)) else {
                break;
            };
            if problems.is_null() {
                spoken.written.store(word, Ordering::Relaxed);
            }
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(20));
            word += 1;
        }
    }
}

/// Moments that nobody has chosen (xorshift).
struct Moments(u64);

impl Moments {
    fn next(&mut self, most_milliseconds: u64) -> Duration {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        Duration::from_millis(self.0 % most_milliseconds)
    }
}
