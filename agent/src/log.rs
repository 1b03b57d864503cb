//! Standard error, which the log's lines go to. Each is a `write(2)`, which wakes whoever reads; those
//! that belong together go in one.

use std::fmt::{self, Write as _};
use std::io::{self, Write as _};
use std::sync::{Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// The lines that wait for one another.
static HELD: Mutex<Option<Vec<u8>>> = Mutex::new(None);

/// The most bytes that wait.
const MOST: usize = 64 * 1024;

/// As many bytes as most lines have.
const LINE_BYTES: usize = 128;

/// Begins to tell what is done. The journal, or whoever reads standard error, adds the time.
pub(crate) fn begin(level: Level) {
    // There can be one alone, which is this.
    let _ = tracing::subscriber::set_global_default(Log { level });
}

/// What takes the lines. Nothing here has spans, for which `tracing_subscriber` makes room for thousands: twenty pages and
/// four times the instructions of a line.
struct Log {
    level: Level,
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.level
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.level.into())
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line {
            text: String::with_capacity(LINE_BYTES),
        };
        // Writing to a String cannot fail.
        let _ = write!(line.text, "{:>5}", event.metadata().level().as_str());
        event.record(&mut line);
        let mut text = harmless(line.text);
        text.push('\n');
        tell(text.as_bytes());
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// A line that is made up of an event's fields.
struct Line {
    text: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.text.push(' ');
        if field.name() != "message" {
            self.text.push_str(field.name());
            self.text.push('=');
        }
        let _ = write!(self.text, "{value:?}");
    }
}

/// A text as a terminal may have it: who reads the log must not be at the mercy of names that others gave.
fn harmless(text: String) -> String {
    let is_harmful = |c: char| c.is_control() && c != '\n' && c != '\t';
    // Most are plain, which is quickly seen.
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) || !text.contains(is_harmful) {
        return text;
    }
    let mut shown = String::with_capacity(2 * text.len());
    for c in text.chars() {
        if is_harmful(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Writes a line, or keeps it for those that belong to it.
fn tell(line: &[u8]) {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    // A log that has gone away is no failure of ours.
    let Some(lines) = held.as_mut() else {
        let _ = io::stderr().write_all(line);
        return;
    };
    if lines.len() + line.len() > MOST {
        let _ = io::stderr().write_all(lines);
        lines.clear();
    }
    lines.extend_from_slice(line);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        let shown = harmless("eth0\u{1b}[31m\r\t\u{9b}ü\n".to_owned());
        assert_eq!(shown, "eth0\\u{1b}[31m\\r\t\\u{9b}ü\n");
        for plain in ["rename eth0 to net1: its name is to be net1", "ü\n"] {
            assert_eq!(harmless(plain.to_owned()), plain);
        }
    }
}
