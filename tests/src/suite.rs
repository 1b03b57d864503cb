//! Suites without cargo's own harness: whose checks share one thing that is slow to make, like a booted guest, or which
//! `make` runs by themselves. Each check is a test of its own in the result.

use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use libtest_mimic::{Arguments, Failed, Trial};

/// A check of the shared thing; what it changes, the checks after it meet.
pub type Check<T> = fn(&mut T) -> Result<()>;

/// Runs named checks of a shared thing in their order: the `main` of a test program without cargo's own harness.
pub fn run<T: Send + 'static>(
    shared: &'static Shared<T>,
    checks: &[(&'static str, Check<T>)],
) -> ExitCode {
    let trials = checks
        .iter()
        .map(|&(name, check)| Trial::test(name, move || shared.with(check).map_err(Failed::from)))
        .collect();
    let exit = in_order(trials);
    shared.clear();
    exit
}

/// A check that shares nothing with others.
pub type Alone = fn() -> Result<()>;

/// Runs named checks that share nothing, in their order.
pub fn run_each(checks: &[(&'static str, Alone)]) -> ExitCode {
    let trials = checks.iter().map(|&(name, check)| {
        Trial::test(name, move || {
            check().map_err(|error| Failed::from(format!("{error:#}")))
        })
    });
    in_order(trials.collect())
}

fn in_order(trials: Vec<Trial>) -> ExitCode {
    let mut arguments = Arguments::from_args();
    // The programs behind a guest end with the thread that started them: all checks run on this.
    arguments.test_threads = Some(1);
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A value that is made at its first use. One check at a time uses it.
#[derive(Debug)]
pub struct Shared<T> {
    make: fn() -> Result<T>,
    value: Mutex<Option<Result<T, String>>>,
}

impl<T> Shared<T> {
    /// Nothing is made yet.
    pub const fn new(make: fn() -> Result<T>) -> Self {
        Self {
            make,
            value: Mutex::new(None),
        }
    }

    /// Hands the value to a check, or says each time why it could not be made.
    fn with(&self, check: Check<T>) -> Result<(), String> {
        // A check that panicked has failed; the others still get the value.
        let mut value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        let made = value.get_or_insert_with(|| (self.make)().map_err(|error| format!("{error:#}")));
        match made {
            Ok(value) => check(value).map_err(|error| format!("{error:#}")),
            Err(error) => Err(error.clone()),
        }
    }

    fn clear(&self) {
        *self.value.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
