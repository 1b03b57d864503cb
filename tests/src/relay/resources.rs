//! What a running program takes of the machine, as `/proc` has it (`proc_pid_status(5)`).

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result};

/// Memory of a program, in KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// The most that was ever resident.
    pub peak: u64,
    /// What is resident now.
    pub resident: u64,
    /// What of that is its own: no pages of the program's file.
    pub anonymous: u64,
}

/// The memory of a program.
///
/// # Errors
/// When it does not run any more.
pub fn memory(process: u32) -> Result<Memory> {
    let path = format!("/proc/{process}/status");
    let status = fs::read_to_string(&path).with_context(|| path.clone())?;
    let field = |name: &str| -> Result<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let value = line.and_then(|line| line.split_whitespace().next());
        Ok(value
            .with_context(|| format!("{path} has no {name}"))?
            .parse()?)
    };
    Ok(Memory {
        peak: field("VmHWM:")?,
        resident: field("VmRSS:")?,
        anonymous: field("RssAnon:")?,
    })
}

/// The time that the first thread of a program has had on a processor (`/proc/PID/schedstat`).
///
/// # Errors
/// When it does not run any more.
pub fn processor_time(process: u32) -> Result<Duration> {
    let path = format!("/proc/{process}/schedstat");
    let text = fs::read_to_string(&path).with_context(|| path.clone())?;
    let nanoseconds = text.split_whitespace().next().context(path)?;
    Ok(Duration::from_nanos(nanoseconds.parse()?))
}

/// How many files, sockets and the like a program has open.
///
/// # Errors
/// When it does not run any more.
pub fn open_files(process: u32) -> Result<usize> {
    let path = format!("/proc/{process}/fd");
    Ok(fs::read_dir(&path).context(path)?.count())
}
