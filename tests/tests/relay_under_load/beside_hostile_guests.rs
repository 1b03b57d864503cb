//! Honest guests beside hostile ones: they are heard, and the relay stays within its bounds.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use dra_guest_tests::cluster::ControlPlane;
use dra_guest_tests::relay::fleet::Fleet;

use crate::hostile::{self, HOSTILE, WAYS};

const HONEST: u32 = 8;
/// Sockets whose CID no VM has.
const STRANGERS: u32 = 1;
/// How often the readiness of an honest guest changes, and how long it then stays: a guest that changes at once would be
/// done before the others have begun.
const WORDS: u32 = 40;
const STAYS: Duration = Duration::from_millis(200);

/// Far above what the relay needs, far below what guests could make it hold without bounds.
const MEMORY_KIB: u64 = 16 << 10;
/// For each guest a listener, a connection and one that takes its place.
const FILES: usize = 3 * (HONEST + HOSTILE + STRANGERS) as usize + 32;
/// Writes of one claim: at once, and a second.
const WRITES: f64 = 60.0;
const WRITES_PER_SECOND: f64 = 1.0;
/// Lines of a guest: at once, and a second.
const LINES: f64 = 100.0;
const LINES_PER_SECOND: f64 = 10.0;

pub fn honest_guests_are_heard(control: &mut ControlPlane) -> Result<()> {
    let fleet = Fleet::start(control, "hostile", HONEST + HOSTILE, STRANGERS)?;
    let begin = Instant::now();
    let stop = AtomicBool::new(false);
    let (did, most_files) = thread::scope(|scope| -> Result<_> {
        let honest: Vec<_> = (0..HONEST)
            .map(|number| {
                scope.spawn({
                    let fleet = &fleet;
                    move || speak(fleet, number)
                })
            })
            .collect();
        let hostile: Vec<_> = (HONEST..)
            .zip(WAYS)
            .map(|(number, (name, way))| {
                let (fleet, stop) = (&fleet, &stop);
                (name, scope.spawn(move || act(fleet, number, stop, way)))
            })
            .collect();
        let stranger = HONEST + HOSTILE;
        let stranger = scope.spawn({
            let (fleet, stop) = (&fleet, &stop);
            move || act(fleet, stranger, stop, WAYS[0].1)
        });

        let mut most_files = 0;
        while honest.iter().any(|guest| !guest.is_finished()) {
            most_files = most_files.max(fleet.open_files()?);
            thread::sleep(Duration::from_millis(5));
        }
        stop.store(true, Ordering::Relaxed);
        let did: Vec<(&str, u64)> = hostile
            .into_iter()
            .map(|(name, guest)| (name, guest.join().unwrap()))
            .collect();
        stranger.join().unwrap();
        for guest in honest {
            guest.join().unwrap()?;
        }
        Ok((did, most_files))
    })?;

    for number in 0..HONEST {
        fleet.wait_for_word(number, WORDS)?;
    }
    let memory = fleet.memory()?;
    let seconds = begin.elapsed().as_secs();
    println!("in {seconds} s: {did:?}; {memory:?} KiB, {most_files} open files at most");
    // One time is a line, a connection, or 10,000 lines: nobody has only begun.
    ensure!(did.iter().all(|(_, times)| *times >= 10), "{did:?}");
    ensure!(memory.peak < MEMORY_KIB, "{memory:?}");
    ensure!(most_files < FILES, "{most_files} open files");
    check_lines(&fleet, begin)?;
    check_requests(&fleet, begin)?;
    check_log(&fleet, begin)
}

/// An honest guest, which nobody disconnects. Its reports may be written later than it waits for.
fn speak(fleet: &Fleet<'_>, number: u32) -> Result<()> {
    let mut guest = fleet.guest(number)?;
    for word in 1..=WORDS {
        let problems = guest.report(word.into(), &fleet.word(number, word))?;
        let late = "cannot be written now";
        let is_late = || {
            problems[0]
                .as_str()
                .is_some_and(|words| words.contains(late))
        };
        ensure!(problems.is_null() || is_late(), "{problems}");
        thread::sleep(STAYS);
    }
    Ok(())
}

fn act(fleet: &Fleet<'_>, number: u32, stop: &AtomicBool, way: hostile::Way) -> u64 {
    way(&hostile::Guest {
        socket: &fleet.socket(number),
        claim: &fleet.claim(number),
        claim_of_other: &fleet.claim(0),
        stop,
    })
}

/// The relay has broken off what it should, and read no more of anybody than it should.
fn check_lines(fleet: &Fleet<'_>, begin: Instant) -> Result<()> {
    for bound in ["line_bytes", "first_line", "protocol"] {
        let refused = fleet.metric(&format!("lines_refused_total{{bound=\"{bound}\"}}"))?;
        ensure!(refused > 0.0, "no line was refused for {bound}");
    }
    ensure!(fleet.metric("connections_refused_total")? > 0.0);
    let lines = fleet.metric("lines_total")?;
    let of_guest = LINES + LINES_PER_SECOND * (begin.elapsed().as_secs_f64() + 1.0);
    let most = f64::from(HONEST + HOSTILE) * of_guest;
    ensure!(lines <= most, "{lines} lines, and {most} are the most");
    Ok(())
}

fn check_requests(fleet: &Fleet<'_>, begin: Instant) -> Result<()> {
    let asked = fleet.asked()?;
    let most = WRITES + WRITES_PER_SECOND * (begin.elapsed().as_secs_f64() + 1.0);
    for number in fleet.numbers() {
        let claim = fleet.claim(number);
        let of = |verb: &str| {
            let those = asked.iter();
            let those = those.filter(|asked| asked.name == claim && asked.verb == verb);
            u32::try_from(those.count()).unwrap()
        };
        let (reads, writes) = (of("get"), of("patch"));
        ensure!(
            f64::from(writes) <= most,
            "{writes} writes of {claim}, and {most} are the most"
        );
        // The first word, and what was not clear.
        ensure!(reads <= 5, "{reads} reads of {claim}");
    }
    let name = |way: &str| {
        let number = WAYS.iter().position(|(name, _)| *name == way).unwrap();
        HONEST + u32::try_from(number).unwrap()
    };
    // Who speaks of the claims of others, or of devices that are none, costs no write.
    for way in ["short lines", "claims of others", "invents devices"] {
        ensure!(fleet.condition(name(way))?.is_none(), "{way}");
    }
    // Who turns all the time is written, too, if not each time.
    let turning = fleet.condition(name("turns all the time"))?;
    ensure!(turning.is_some());
    Ok(())
}

/// A guest can make few lines of the log.
fn check_log(fleet: &Fleet<'_>, begin: Instant) -> Result<()> {
    let log = fleet.log()?;
    let lines = f64::from(u32::try_from(log.lines().count())?);
    // A line costs at most two lines of the log, and a connection, which costs ten lines, two more.
    let of_guest = 3.0 * (LINES + LINES_PER_SECOND * (begin.elapsed().as_secs_f64() + 1.0));
    let most = f64::from(HONEST + HOSTILE) * of_guest;
    ensure!(
        lines <= most,
        "{lines} lines of the log, and {most} are the most"
    );
    Ok(())
}
