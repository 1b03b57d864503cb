//! The journal's lines, and the file that they are in.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};
use serde::{Deserialize, Serialize};

use crate::plan::Step;
use crate::state_directory;

/// One line, as it is read.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Record {
    BootId(String),
    Begin(Step),
    Retract(Step),
}

/// One line, as it is written.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Line<'a> {
    BootId(&'a str),
    Begin(&'a Step),
    Retract(&'a Step),
}

/// Puts a whole file in the place of another, open for what is to follow. The first one need not come
/// about in one go: what is cut of it are steps that were not made.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CLOEXEC;
    let new = flags | OFlags::CREATE | OFlags::EXCL;
    if let Ok(file) = open(path, new, Mode::from_raw_mode(0o644)) {
        let mut file = File::from(file);
        file.write_all(bytes)?;
        return Ok(file);
    }
    state_directory::put(path, bytes)?;
    Ok(File::from(open(path, flags, Mode::empty())?))
}

pub(super) fn text<'a>(lines: impl Iterator<Item = Line<'a>>) -> Vec<u8> {
    // Most have some 200 bytes.
    let mut bytes = Vec::with_capacity(200 * lines.size_hint().0);
    for line in lines {
        // Every map of a line has string keys, and memory takes all bytes.
        let _ = serde_json::to_writer(&mut bytes, &line);
        bytes.push(b'\n');
    }
    bytes
}
