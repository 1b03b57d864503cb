//! Long-running programs beside a test: started with a log, ended with their guard.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use signal_hook::consts::SIGABRT;

use crate::wait;

/// A running program. Dropping it kills the program; so does the end of the thread that started it,
/// however it ends (the kernel's parent death signal).
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts `program` with `arguments`; standard output and error go to `NAME.log` below `logs`.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start<A: AsRef<OsStr>>(
        name: &str,
        program: &Path,
        arguments: impl IntoIterator<Item = A>,
        logs: &Path,
    ) -> Result<Self> {
        let log = logs.join(format!("{name}.log"));
        let output =
            File::create(&log).with_context(|| format!("{} is not made", log.display()))?;
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "--"])
            .arg(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .with_context(|| format!("{name} cannot be started by setpriv"))?;
        Ok(Self {
            name: name.to_owned(),
            child,
            log,
        })
    }

    /// Its process ID.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks the program to end, as the kubelet does: SIGTERM.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub fn terminate(&self) -> Result<()> {
        let asked = Command::new("kill")
            .args(["-TERM", &self.id().to_string()])
            .status()
            .context("kill cannot be started")?;
        if !asked.success() {
            bail!("{} cannot be asked to end", self.name);
        }
        Ok(())
    }

    /// Waits for the end of the program, and gives its exit code; a signal has none.
    ///
    /// # Errors
    /// When it does not end in a minute.
    pub fn wait(&mut self) -> Result<Option<i32>> {
        let what = format!("the end of {}", self.name);
        wait::until(&what, Duration::from_mins(1), || {
            Ok(self.child.try_wait()?)
        })
        .map(|status| status.code())
    }

    /// Fails when the program has ended, with the end of its log.
    ///
    /// # Errors
    /// See above.
    pub fn check(&mut self) -> Result<()> {
        if let Some(status) = self.child.try_wait()? {
            bail!(
                "{} ended early ({status}), its log {} ends with:\n{}",
                self.name,
                self.log.display(),
                tail(&self.log, 10)
            );
        }
        Ok(())
    }

    /// Whether it ended itself by `abort(3)`, as a failed assertion does.
    ///
    /// # Errors
    /// When that cannot be known.
    pub fn has_aborted(&mut self) -> Result<bool> {
        let status = self.child.try_wait()?;
        Ok(status.is_some_and(|status| status.signal() == Some(SIGABRT)))
    }

    /// Kills the program.
    ///
    /// # Errors
    /// When it cannot be.
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Waits, at most [`wait::PATIENCE`], until the program has made the file `path`, a socket usually.
    ///
    /// # Errors
    /// When it ends or the time is over.
    pub fn wait_for_file(&mut self, path: &Path) -> Result<()> {
        let what = format!("{}: {}", self.name, path.display());
        wait::until(&what, wait::PATIENCE, || {
            self.check()?;
            Ok(path.exists().then_some(()))
        })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The last lines of a log, as far as it can be read.
pub fn tail(log: &Path, lines: usize) -> String {
    let bytes = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let all: Vec<&str> = text.lines().collect();
    let start = all.len().saturating_sub(lines);
    all.get(start..).unwrap_or_default().join("\n")
}
