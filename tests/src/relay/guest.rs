//! The guest of a VM, as its agent speaks.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::objects::DRIVER;

/// What an agent says of a device that is not ready.
pub fn failed(claim: &str, reason: &str) -> Value {
    device(claim, false, reason)
}

/// What an agent says when all is well.
pub fn report(claim: &str) -> Value {
    device(claim, true, "Configured")
}

fn device(claim: &str, ready: bool, reason: &str) -> Value {
    json!({
        "identity": {
            "claim": {"namespace": "default", "name": claim},
            "request": "vf", "driver": DRIVER, "pool": "p", "device": claim,
        },
        "ready": ready, "reason": reason, "message": "", "interfaceName": "net1", "addresses": [],
    })
}

/// A connection of a guest.
#[derive(Debug)]
pub struct Guest {
    stream: UnixStream,
    answers: BufReader<UnixStream>,
}

impl Guest {
    /// A connection on which the relay has answered a hello; `None` when it closes it. No answer is waited for longer than
    /// `patience`.
    ///
    /// # Errors
    /// When nobody listens. So for all that follows: when the relay does not take or answer it.
    pub fn connect(socket: &Path, patience: Duration) -> Result<Option<Self>> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(patience))?;
        let mut guest = Self {
            answers: BufReader::new(stream.try_clone()?),
            stream,
        };
        Ok(guest.hello().is_ok().then_some(guest))
    }

    fn hello(&mut self) -> Result<()> {
        self.send(
            &json!({"type": "hello", "version": "0.1.0", "bootId": "b", "documentDigest": null}),
        )?;
        self.acknowledged(0)?;
        Ok(())
    }

    /// Says that the agent lives.
    ///
    /// # Errors
    /// See [`Guest::connect`].
    pub fn heartbeat(&mut self) -> Result<()> {
        self.send(&json!({"type": "heartbeat"}))
    }

    /// Reports one device, and gives the problems of the answer; `null` when there are none.
    ///
    /// # Errors
    /// See [`Guest::connect`].
    pub fn report(&mut self, sequence: u64, device: &Value) -> Result<Value> {
        self.say(sequence, device)?;
        self.acknowledged(sequence)
    }

    /// Reports one device, and does not wait for the answer.
    ///
    /// # Errors
    /// See [`Guest::connect`].
    pub fn say(&mut self, sequence: u64, device: &Value) -> Result<()> {
        self.send(&json!({"type": "report", "sequence": sequence, "devices": [device]}))
    }

    /// Waits until the relay has closed the connection.
    ///
    /// # Errors
    /// See [`Guest::connect`].
    pub fn wait_for_end(&mut self) -> Result<()> {
        let mut line = String::new();
        let read = self.answers.read_line(&mut line)?;
        ensure!(read == 0, "the relay says {line}");
        Ok(())
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        Ok(self.stream.write_all(format!("{message}\n").as_bytes())?)
    }

    fn acknowledged(&mut self, sequence: u64) -> Result<Value> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        let mut answer: Value = serde_json::from_str(&line)?;
        let answered = answer.get("sequence").and_then(Value::as_u64);
        ensure!(answered == Some(sequence), "{answer}");
        Ok(answer
            .get_mut("problems")
            .map(Value::take)
            .unwrap_or_default())
    }
}
