//! Standard error, which the log's lines go to. Each is a `write(2)`, which wakes whoever reads; those
//! that belong together go in one.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

/// The lines that wait for one another.
static HELD: Mutex<Option<Vec<u8>>> = Mutex::new(None);

/// The most bytes that wait.
const MOST: usize = 64 * 1024;

/// Begins to tell what is done. The journal, or whoever reads standard error, adds the time.
pub(crate) fn begin(level: tracing::Level) {
    tracing_subscriber::fmt()
        .with_writer(|| Lines)
        .with_max_level(level)
        .with_target(false)
        .with_ansi(false)
        .without_time()
        // A journal that has gone away is no reason to end: the default would panic then.
        .log_internal_errors(false)
        .init();
}

/// Standard error, as `tracing_subscriber` writes to it.
#[derive(Debug, Clone, Copy)]
struct Lines;

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(lines) = held.as_mut() else {
            return io::stderr().write(line);
        };
        if lines.len() + line.len() > MOST {
            io::stderr().write_all(lines)?;
            lines.clear();
        }
        lines.extend_from_slice(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Tells several lines, which are written when all are told.
pub(crate) fn together(tell: impl FnOnce()) {
    let set = |lines| {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *held, lines)
    };
    if let Some(outer) = set(Some(Vec::new())) {
        // Told within another: they go with it.
        set(Some(outer));
        return tell();
    }
    tell();
    if let Some(lines) = set(None) {
        // A log that has gone away is no failure of ours.
        let _ = io::stderr().write_all(&lines);
    }
}
