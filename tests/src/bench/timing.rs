//! Wall times of short programs, taken in turn so that a slow moment meets all of them.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

/// A program that is measured.
pub(super) struct Candidate<'a> {
    /// Its name in messages.
    pub(super) name: &'a str,
    /// The command line.
    pub(super) command: Vec<&'a str>,
    /// What it gets on standard input.
    pub(super) stdin: &'a [u8],
    /// Brings everything to where it was before the program ran; not measured.
    pub(super) reset: &'a dyn Fn() -> Result<()>,
}

/// Runs the candidates in turn, `rounds` times and once before that, and returns the median wall
/// time of each, in their order.
///
/// # Errors
/// When one does not end with 0.
pub(super) fn medians(rounds: usize, candidates: &[Candidate<'_>]) -> Result<Vec<Duration>> {
    let mut times = vec![Vec::with_capacity(rounds); candidates.len()];
    for round in 0..=rounds {
        for (candidate, times) in candidates.iter().zip(&mut times) {
            (candidate.reset)().with_context(|| format!("the reset of {}", candidate.name))?;
            let took = run(candidate)?;
            // The first round fills the caches.
            if round > 0 {
                times.push(took);
            }
        }
    }
    times
        .into_iter()
        .map(|mut times| {
            times.sort_unstable();
            times.get(times.len() / 2).copied().context("no rounds")
        })
        .collect()
}

fn run(candidate: &Candidate<'_>) -> Result<Duration> {
    let (program, arguments) = candidate.command.split_first().context("no program")?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let begin = Instant::now();
    let mut child = command
        .spawn()
        .with_context(|| format!("{program} cannot be started"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read is no failure here.
        let _ = stdin.write_all(candidate.stdin);
    }
    let output = child.wait_with_output()?;
    let took = begin.elapsed();
    if !output.status.success() {
        bail!(
            "{} ended with {}: {}",
            candidate.name,
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(took)
}
