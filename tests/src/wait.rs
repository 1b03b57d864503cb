//! Bounded waiting.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::interrupt;

/// How long a test waits for what it knows to come: much more than it takes, on a machine that does much else.
pub const PATIENCE: Duration = Duration::from_mins(2);

/// Asks `probe` every 20 ms until it has a value.
///
/// # Errors
/// When the probe fails, or `limit` is over; then the error says that `what` did not come. So when the
/// program is interrupted.
pub fn until<T>(
    what: &str,
    limit: Duration,
    mut probe: impl FnMut() -> Result<Option<T>>,
) -> Result<T> {
    let start = Instant::now();
    loop {
        interrupt::check()?;
        if let Some(value) = probe()? {
            return Ok(value);
        }
        if start.elapsed() >= limit {
            bail!("{what}: not within {} s", limit.as_secs());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
