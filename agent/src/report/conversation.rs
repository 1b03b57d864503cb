//! One connection to the node's relay: hello, then what changes, then heartbeats.

use std::io;
use std::time::Duration;

use device_attributes::limits::LINE_BYTES;
use device_attributes::report::{DeviceReport, GuestMessage, HEARTBEAT_SECONDS, RelayMessage};
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
    ReadHalf, WriteHalf,
};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::lines::parts;
use super::relay::Account;

/// The longest wait for the relay to take or answer a line.
const ANSWER: Duration = Duration::from_secs(10);
/// The time without a line after which the relay is told that the agent lives.
const HEARTBEAT: Duration = Duration::from_secs(HEARTBEAT_SECONDS);

/// Speaks with the relay until the document is another one, or nobody can change the account any
/// more.
///
/// # Errors
/// The connection is of no use any more.
pub(super) async fn converse<S: AsyncRead + AsyncWrite>(
    stream: S,
    boot_id: &str,
    account: &mut watch::Receiver<Account>,
) -> io::Result<()> {
    let mut relay = Relay::over(stream);
    let mut current = account.borrow_and_update().clone();
    let hello = GuestMessage::Hello {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        boot_id: boot_id.to_owned(),
        document_digest: current.document_digest.clone(),
    };
    relay.tell(&hello, 0).await?;
    tracing::debug!("the node's relay answers");

    let mut sequence = 0;
    let mut told: Vec<DeviceReport> = Vec::new();
    loop {
        let news: Vec<DeviceReport> = current
            .devices
            .iter()
            .filter(|device| !told.contains(device))
            .cloned()
            .collect();
        for devices in parts(news) {
            sequence += 1;
            let report = GuestMessage::Report { sequence, devices };
            relay.tell(&report, sequence).await?;
        }
        told = current.devices;

        let changed = loop {
            tokio::select! {
                changed = account.changed() => break changed,
                ended = relay.silence() => return Err(ended),
                () = sleep(HEARTBEAT) => relay.send(&GuestMessage::Heartbeat {}).await?,
            }
        };
        if changed.is_err() {
            return Ok(());
        }
        let next = account.borrow_and_update().clone();
        if next.document_digest != current.document_digest {
            return Ok(());
        }
        current = next;
    }
}

/// The two ends of a connection.
struct Relay<S> {
    lines: WriteHalf<S>,
    answers: BufReader<ReadHalf<S>>,
}

impl<S: AsyncRead + AsyncWrite> Relay<S> {
    fn over(stream: S) -> Self {
        let (read, lines) = tokio::io::split(stream);
        let answers = BufReader::new(read);
        Self { lines, answers }
    }

    /// Sends a message and waits for its acknowledgement.
    async fn tell(&mut self, message: &GuestMessage, expected: u64) -> io::Result<()> {
        self.send(message).await?;
        let mut line = Vec::new();
        let limit = u64::try_from(LINE_BYTES).unwrap_or(u64::MAX);
        let mut answer = (&mut self.answers).take(limit);
        let read = in_time("answer", answer.read_until(b'\n', &mut line)).await?;
        if !line.ends_with(b"\n") {
            return Err(io::Error::other(if read < LINE_BYTES {
                "it closed the connection without an answer".to_owned()
            } else {
                format!("its answer has more than {LINE_BYTES} bytes")
            }));
        }
        let RelayMessage::Ack { sequence, problems } = serde_json::from_slice(&line)
            .map_err(|error| io::Error::other(format!("its answer is not understood: {error}")))?;
        if sequence != expected {
            return Err(io::Error::other(format!(
                "it acknowledges message {sequence} in place of {expected}"
            )));
        }
        for problem in problems {
            tracing::warn!("the node's relay says: {}", problem.escape_debug());
        }
        Ok(())
    }

    async fn send(&mut self, message: &GuestMessage) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        in_time("take a line", self.lines.write_all(&line)).await
    }

    /// Waits as long as the relay says nothing, as it has to while it was not told anything.
    async fn silence(&mut self) -> io::Error {
        match self.answers.fill_buf().await {
            Ok([]) => io::Error::other("it closed the connection"),
            Ok(_) => io::Error::other("it says something that it was not asked for"),
            Err(error) => error,
        }
    }
}

async fn in_time<T>(what: &str, work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(ANSWER, work).await.unwrap_or_else(|_| {
        let seconds = ANSWER.as_secs();
        Err(io::Error::other(format!(
            "it did not {what} within {seconds} s"
        )))
    })
}

#[cfg(test)]
mod tests;
