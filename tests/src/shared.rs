//! Something slow to make, made once for all checks of a test program, by the first that runs.

use std::sync::{Mutex, PoisonError};

use anyhow::Result;

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

    /// Hands the value to `check`.
    ///
    /// # Errors
    /// Those of `check`, or the one error of making the value, each time.
    pub fn with(&self, check: impl FnOnce(&mut T) -> Result<()>) -> Result<(), String> {
        // A check that panicked has failed; the others still get the value.
        let mut value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        let made = value.get_or_insert_with(|| (self.make)().map_err(|error| format!("{error:#}")));
        match made {
            Ok(value) => check(value).map_err(|error| format!("{error:#}")),
            Err(error) => Err(error.clone()),
        }
    }

    /// Ends the value.
    pub fn clear(&self) {
        *self.value.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
