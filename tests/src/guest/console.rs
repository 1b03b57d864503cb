//! Commands in the guest, through a virtio-serial port.

use std::io::{BufRead as _, BufReader, ErrorKind, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::wait;

/// The exit code of a command that took longer than the guest lets it (`timeout(1)`).
pub(super) const TOOK_LONG: i32 = 124;

/// What a command in the guest came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestOutput {
    /// Its exit code, as the shell tells it; 124 when it took longer than two minutes.
    pub code: i32,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

/// The connection to the guest's end, `console.sh`.
#[derive(Debug)]
pub(super) struct Console {
    writer: UnixStream,
    reader: BufReader<UnixStream>,
    number: u32,
}

impl Console {
    pub(super) fn connect(socket: &Path) -> Result<Self> {
        // The file is there a moment before QEMU listens.
        let what = format!("QEMU's console {}", socket.display());
        let writer = wait::until(&what, wait::PATIENCE, || {
            match UnixStream::connect(socket) {
                Ok(stream) => Ok(Some(stream)),
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(None),
                Err(error) => Err(error).context(what.clone()),
            }
        })?;
        // A wait for an answer is made of short ones: it can be interrupted.
        writer.set_read_timeout(Some(Duration::from_millis(200)))?;
        let reader = BufReader::new(writer.try_clone()?);
        Ok(Self {
            writer,
            reader,
            number: 0,
        })
    }

    /// Runs a shell command as root. What is sent before the guest listens waits in the socket.
    pub(super) fn run(&mut self, command: &str, limit: Duration) -> Result<GuestOutput> {
        self.number += 1;
        let number = self.number.to_string();
        writeln!(self.writer, "{number} {}", STANDARD.encode(command))?;
        let what = format!("the guest's answer to: {command}");
        loop {
            let mut answer = Vec::new();
            wait::until(&what, limit, || {
                match self.reader.read_until(b'\n', &mut answer) {
                    Ok(_) if answer.ends_with(b"\n") => Ok(Some(())),
                    Ok(_) => bail!("the guest ended before it answered: {command}"),
                    // What has come of the line is kept.
                    Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
                    Err(error) => Err(error).context(what.clone()),
                }
            })?;
            let answer = String::from_utf8(answer).context(what.clone())?;
            // An answer to a command that was given up is not ours.
            if answer.split(' ').next() == Some(number.as_str()) {
                return parse(&answer)
                    .with_context(|| format!("the guest's answer is cut: {answer}"));
            }
        }
    }
}

fn parse(answer: &str) -> Result<GuestOutput> {
    let mut words = answer.split_whitespace().skip(1);
    let code = words.next().context("no exit code")?.parse()?;
    let mut text = || -> Result<String> {
        let word = words.next().context("no output")?;
        let bytes = STANDARD.decode(word.trim_start_matches('='))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    Ok(GuestOutput {
        code,
        stdout: text()?,
        stderr: text()?,
    })
}
