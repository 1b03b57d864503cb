//! What is done, as it is done, and how long each step took.

use std::fmt::Display;
use std::io::Write as _;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::interrupt;

/// How often a step that takes long says so.
const TICK: Duration = Duration::from_secs(30);

/// A finished step, and how long it took.
#[derive(Debug, Clone)]
struct Step {
    name: &'static str,
    took: Duration,
}

/// Prints each step when it begins and what came of it, with the time since the start, unless silent.
#[derive(Debug)]
pub struct Progress {
    start: Instant,
    steps: Vec<Step>,
    printing: bool,
}

impl Progress {
    /// Starts the clock.
    pub fn printed() -> Self {
        Self {
            start: Instant::now(),
            steps: Vec::new(),
            printing: true,
        }
    }

    /// Starts the clock, and says nothing.
    pub fn silent() -> Self {
        Self {
            printing: false,
            ..Self::printed()
        }
    }

    /// Does one step. `outcome` of it is a line that says what came of it.
    ///
    /// # Errors
    /// Those of the step, with its name.
    pub fn step<T, L: Display>(
        &mut self,
        name: &'static str,
        work: impl FnOnce() -> Result<(T, L)>,
    ) -> Result<T> {
        self.line(name);
        interrupt::check()?;
        let begin = Instant::now();
        let (value, outcome) = self
            .ticking(begin, work)
            .with_context(|| format!("to {name} failed"))?;
        self.steps.push(Step {
            name,
            took: begin.elapsed(),
        });
        self.line(format_args!("  {outcome}"));
        Ok(value)
    }

    /// Does the work, and says every half minute that it goes on: a first run builds much.
    fn ticking<T>(&self, begin: Instant, work: impl FnOnce() -> T) -> T {
        // Dropped when the work has ended, however it ends.
        let (working, ended) = mpsc::channel::<()>();
        thread::scope(|scope| {
            scope.spawn(move || {
                while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                    self.line(format_args!("  … for {} s", begin.elapsed().as_secs()));
                }
            });
            // On this thread: programs end with the thread that started them.
            let value = work();
            drop(working);
            value
        })
    }

    /// Prints a line with the time since the start.
    pub fn line(&self, text: impl Display) {
        if self.printing {
            let seconds = self.start.elapsed().as_secs_f64();
            // Nobody reads any more: no reason to stop half-way.
            let _ = writeln!(std::io::stdout(), "[{seconds:5.1} s] {text}");
        }
    }

    /// Prints a command and what it said, as a terminal has them.
    pub fn shown(&self, command: &str, output: &str) {
        if self.printing {
            let _ = writeln!(std::io::stdout(), "\n$ {command}\n{}\n", output.trim_end());
        }
    }

    /// How long each step took, and all of them, a line each.
    pub fn times(&self) -> String {
        let line = |took: Duration, name: &str| format!("{:6.1} s  {name}\n", took.as_secs_f64());
        let mut lines: Vec<_> = self
            .steps
            .iter()
            .map(|step| line(step.took, step.name))
            .collect();
        lines.push(line(self.start.elapsed(), "all together"));
        lines.concat()
    }
}
