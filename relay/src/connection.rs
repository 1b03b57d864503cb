//! One connection of a guest: bounded lines in, answers out, each within its time.

use std::io;
use std::time::Duration;

use device_attributes::limits::LINE_BYTES;
use device_attributes::report::{HEARTBEAT_SECONDS, RelayMessage};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::{Instant, timeout, timeout_at};

use crate::monitoring::labels::Bound;
use crate::monitoring::metrics::{self, Counted};

/// From the connection to the whole of the first line.
const FIRST_LINE: Duration = Duration::from_secs(HEARTBEAT_SECONDS);
/// From the first byte of a line to its end.
const LINE: Duration = Duration::from_secs(3 * HEARTBEAT_SECONDS);
/// For an answer to be taken by the guest.
const ANSWER: Duration = Duration::from_secs(5);

/// A byte stream to a guest, of whichever kind of socket.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Why a connection has no further line.
#[derive(Debug, thiserror::Error)]
pub enum Closed {
    /// The guest closed it.
    #[error("the guest closed it")]
    ByGuest,
    /// In the middle of a line.
    #[error("it ended in the middle of a line")]
    Cut,
    /// A line is too long.
    #[error("a line has more than {LINE_BYTES} bytes")]
    TooLong,
    /// No first line, or a line that does not end.
    #[error("a line did not come to its end in time")]
    TooSlow,
    /// The guest does not take the answers.
    #[error("the guest did not take an answer in time")]
    NotTaken,
    /// The operating system's answer.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl Closed {
    /// The bound that the guest did not keep, if it is that.
    pub fn bound(&self) -> Option<Bound> {
        match self {
            Self::TooLong => Some(Bound::Bytes),
            Self::TooSlow => Some(Bound::Time),
            Self::NotTaken => Some(Bound::AnswerTime),
            Self::ByGuest | Self::Cut | Self::Io(_) => None,
        }
    }
}

/// A connection, and what was read of its next lines.
pub struct Connection {
    stream: Box<dyn Stream>,
    /// Never more than one line and one read.
    buffer: Vec<u8>,
    /// So much of the buffer is known to hold no newline.
    searched: usize,
    opened: Instant,
    line_started: Option<Instant>,
    lines: u64,
    _counted: Counted,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection")
            .field("buffered", &self.buffer.len())
            .field("lines", &self.lines)
            .finish_non_exhaustive()
    }
}

impl Connection {
    /// A connection that was just made.
    pub fn new(stream: Box<dyn Stream>) -> Self {
        Self {
            stream,
            buffer: Vec::new(),
            searched: 0,
            opened: Instant::now(),
            line_started: None,
            lines: 0,
            _counted: metrics::connection(),
        }
    }

    /// How many lines it has had.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// The next line with its newline. Nothing is lost when the wait is broken off.
    ///
    /// # Errors
    /// The connection is of no use any more.
    pub async fn next_line(&mut self) -> Result<Vec<u8>, Closed> {
        loop {
            let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
            if let Some(index) = unsearched.iter().position(|byte| *byte == b'\n') {
                let length = self.searched + index + 1;
                if length > LINE_BYTES {
                    return Err(Closed::TooLong);
                }
                let rest = self.buffer.split_off(length);
                let line = std::mem::replace(&mut self.buffer, rest);
                self.searched = 0;
                self.line_started = (!self.buffer.is_empty()).then(Instant::now);
                self.lines += 1;
                metrics::line();
                return Ok(line);
            }
            self.searched = self.buffer.len();
            if self.buffer.len() >= LINE_BYTES {
                return Err(Closed::TooLong);
            }
            let mut chunk = [0; 4096];
            let deadline = self.deadline();
            let read = self.stream.read(&mut chunk);
            let read = match deadline {
                Some(deadline) => timeout_at(deadline, read)
                    .await
                    .map_err(|_| Closed::TooSlow)??,
                None => read.await?,
            };
            match chunk.get(..read) {
                None | Some([]) if self.buffer.is_empty() => return Err(Closed::ByGuest),
                None | Some([]) => return Err(Closed::Cut),
                Some(bytes) => {
                    self.line_started.get_or_insert_with(Instant::now);
                    self.buffer.extend_from_slice(bytes);
                }
            }
        }
    }

    /// A silent connection may stay: what it means for the devices is the business of the account.
    fn deadline(&self) -> Option<Instant> {
        if self.lines == 0 {
            Some(self.opened + FIRST_LINE)
        } else {
            self.line_started.map(|started| started + LINE)
        }
    }

    /// Sends an answer.
    ///
    /// # Errors
    /// The connection is of no use any more.
    pub async fn answer(&mut self, message: &RelayMessage) -> Result<(), Closed> {
        let mut line = serde_json::to_vec(message).map_err(io::Error::from)?;
        line.push(b'\n');
        timeout(ANSWER, self.stream.write_all(&line))
            .await
            .map_err(|_| Closed::NotTaken)??;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (tokio::io::DuplexStream, Connection) {
        let (guest, relay) = tokio::io::duplex(1 << 20);
        (guest, Connection::new(Box::new(relay)))
    }

    #[tokio::test]
    async fn lines_come_one_by_one_however_they_were_sent() {
        let (mut guest, mut connection) = pair();
        guest.write_all(b"one\ntwo\nthr").await.unwrap();
        assert_eq!(connection.next_line().await.unwrap(), b"one\n");
        assert_eq!(connection.next_line().await.unwrap(), b"two\n");
        guest.write_all(b"ee\nfour").await.unwrap();
        assert_eq!(connection.next_line().await.unwrap(), b"three\n");
        drop(guest);
        assert!(matches!(connection.next_line().await, Err(Closed::Cut)));
    }

    #[tokio::test]
    async fn the_longest_line_passes_and_one_byte_more_does_not() {
        let (mut guest, mut connection) = pair();
        let mut longest = vec![b'x'; LINE_BYTES - 1];
        longest.push(b'\n');
        guest.write_all(&longest).await.unwrap();
        assert_eq!(connection.next_line().await.unwrap().len(), LINE_BYTES);
        longest.insert(0, b'x');
        guest.write_all(&longest).await.unwrap();
        assert!(matches!(connection.next_line().await, Err(Closed::TooLong)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_line_that_does_not_end_is_given_up() {
        let (mut guest, mut connection) = pair();
        assert!(matches!(connection.next_line().await, Err(Closed::TooSlow)));

        let (mut guest_two, mut connection) = pair();
        guest_two.write_all(b"hello\n").await.unwrap();
        connection.next_line().await.unwrap();
        let dripping = tokio::spawn(async move {
            while guest_two.write_all(b"x").await.is_ok() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        });
        let started = Instant::now();
        assert!(matches!(connection.next_line().await, Err(Closed::TooSlow)));
        assert_eq!(started.elapsed(), LINE);
        drop(connection);
        dripping.await.unwrap();
        guest.write_all(b"x").await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_guest_that_takes_no_answers_is_given_up() {
        let (guest, relay) = tokio::io::duplex(64);
        let mut connection = Connection::new(Box::new(relay));
        let ack = RelayMessage::Ack {
            sequence: 1,
            problems: vec!["x".repeat(200)],
        };
        assert!(matches!(
            connection.answer(&ack).await,
            Err(Closed::NotTaken)
        ));
        drop(guest);
    }
}
