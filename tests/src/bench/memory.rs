//! How much memory `run` takes.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::command::stdout_of;
use crate::process::Process;
use crate::wait;

/// How long a pass may take.
const LIMIT: Duration = Duration::from_secs(30);

/// The memory of a process, in KiB (`proc_pid_status(5)`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// The most that was resident (`VmHWM`).
    pub peak: u64,
    /// What is its own: neither the program's file nor shared (`RssAnon`).
    pub own: u64,
}

impl Memory {
    /// What `/proc/PID/status` says.
    ///
    /// # Errors
    /// When it does not say it.
    pub fn parse(status: &str) -> Result<Self> {
        let value = |key: &str| -> Result<u64> {
            let line = status.lines().find(|line| line.starts_with(key));
            let number = line.and_then(|line| line.split_whitespace().nth(1));
            Ok(number
                .with_context(|| format!("no {key} in {status}"))?
                .parse()?)
        };
        Ok(Self {
            peak: value("VmHWM:")?,
            own: value("RssAnon:")?,
        })
    }
}

/// Runs the service, `command`, until every device is ready and one that was changed is as wanted again.
/// `run` is the service's `/run`.
///
/// # Errors
/// When it does not come to that.
pub fn memory_of_run(command: &[&str], run: &Path) -> Result<Memory> {
    let (program, arguments) = command.split_first().context("no program")?;
    let logs = run.parent().unwrap_or(run);
    let mut service = Process::start("run", Path::new(program), arguments, logs)?;
    let status = run.join("dra-guest/status.json");
    wait::until("every device is ready", LIMIT, || {
        service.check()?;
        let text = fs::read_to_string(&status).unwrap_or_default();
        Ok(text.contains("\n  \"ready\": true").then_some(()))
    })?;
    let mtu = fs::read_to_string("/sys/class/net/vf1/mtu")?;
    stdout_of(Command::new("ip").args(["link", "set", "dev", "vf1", "mtu", "1280"]))?;
    wait::until("the MTU is right again", LIMIT, || {
        let now = fs::read_to_string("/sys/class/net/vf1/mtu")?;
        Ok((now == mtu).then_some(()))
    })?;
    Memory::parse(&fs::read_to_string(format!(
        "/proc/{}/status",
        service.id()
    ))?)
}
