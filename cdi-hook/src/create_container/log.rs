//! Messages: to standard error, and to a file of the node.
//!
//! runc and podman show a hook's standard error when it fails; crun and youki drop it, so the
//! file is the only witness there.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::OnceLock;
use std::time::SystemTime;

use device_attributes::one_line;
use rustix::fs::OFlags;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::absolute_path::AbsolutePath;

/// The only name of the environment that the hook reads.
const LEVEL_NAME: &str = "DRA_GUEST_LOG";

/// The most bytes of a message: more than one with two of the longest paths has.
const MESSAGE_BYTES: usize = 12 << 10;

/// The most bytes of a container's id in the log; engines make ids of 64.
const CONTAINER_BYTES: usize = 128;

/// The container that messages are about, once it is known.
static CONTAINER: OnceLock<String> = OnceLock::new();

/// Sets logging up. A file that cannot be opened is told of, and never stops a container.
pub(crate) fn start(path: Option<&AbsolutePath>) {
    let level = std::env::var(LEVEL_NAME);
    let (level, unknown) = match level.as_deref() {
        Ok("error") => (Level::ERROR, false),
        Ok("warn") => (Level::WARN, false),
        Ok("info") | Err(_) => (Level::INFO, false),
        Ok("debug") => (Level::DEBUG, false),
        Ok(_) => (Level::INFO, true),
    };
    let opened = path.map(|path| (path, open(path)));
    let (file, failure) = match opened {
        Some((path, Err(error))) => (None, Some((path, error))),
        Some((_, Ok(file))) => (Some(file), None),
        None => (None, None),
    };
    // It can only fail when a subscriber was set before, and this is the one place that sets it.
    let _ = tracing::subscriber::set_global_default(Log { level, file });
    if unknown {
        tracing::warn!("{LEVEL_NAME} is none of error, warn, info, debug: info is taken");
    }
    if let Some((path, error)) = failure {
        tracing::warn!("the log {path} cannot be opened: {error}");
    }
}

/// Says which container messages are about.
pub(crate) fn set_container(id: &str) {
    let _ = CONTAINER.set(one_line(id, CONTAINER_BYTES));
}

fn open(path: &AbsolutePath) -> std::io::Result<File> {
    // Without O_NONBLOCK a FIFO without a reader would hold the hook.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o640)
        .custom_flags(i32::try_from(flags.bits()).unwrap_or_default())
        .open(path.as_str())
}

struct Log {
    level: Level,
    file: Option<File>,
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.level
    }

    fn event(&self, event: &Event<'_>) {
        let mut message = Message(String::new());
        event.record(&mut message);
        let level = match *event.metadata().level() {
            Level::ERROR => "error",
            Level::WARN => "warning",
            Level::INFO => "info",
            _ => "debug",
        };
        let text = one_line(&message.0, MESSAGE_BYTES);
        // One write each: lines of hooks that run at the same time do not mix. Nothing more can be
        // done when it fails.
        let _ = std::io::stderr().write_all(format!("dra-cdi-hook: {level}: {text}\n").as_bytes());
        if let Some(mut file) = self.file.as_ref() {
            let time = humantime::format_rfc3339_seconds(SystemTime::now());
            let container = CONTAINER.get().map_or("-", String::as_str);
            let _ = file.write_all(format!("{time} {level} {container}: {text}\n").as_bytes());
        }
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// Takes an event's message; the hook's events have no other fields.
struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "message" {
            // Writing to memory cannot fail.
            let _ = write!(self.0, "{value:?}");
        }
    }
}
