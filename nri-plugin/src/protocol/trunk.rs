//! The socket between a plugin and its runtime, which carries two connections: on one the runtime calls the
//! plugin, on the other the plugin calls the runtime.
//!
//! Each piece has a header of eight bytes, connection and length, both big-endian (`pkg/net/multiplex` of
//! `github.com/containerd/nri`). Pieces of one connection, put together, are its stream of bytes.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::message::{self, Header, Message};

/// On it the runtime calls the plugin (`PluginServiceConn`).
pub const PLUGIN_CONNECTION: u32 = 1;
/// On it the plugin calls the runtime (`RuntimeServiceConn`).
pub const RUNTIME_CONNECTION: u32 = 2;

const HEADER: usize = 8;
/// The most bytes of a piece that upstream sends: one whole message.
const LONGEST_PIECE: usize = message::HEADER + message::LONGEST;
/// The most bytes of a piece that is sent: upstream reads one whole, into a buffer of this size.
const PIECE: usize = 4096;
/// What is read at once; most requests have a few kilobytes.
const BUFFER: usize = 16 << 10;

/// Why the socket is of no use any more.
#[derive(Debug, thiserror::Error)]
pub enum TrunkError {
    /// The runtime has closed it.
    #[error("the runtime has closed the connection")]
    Closed,
    /// The kernel says so.
    #[error("the connection to the runtime is broken: {0}")]
    Io(#[source] io::Error),
    /// A piece that no runtime sends.
    #[error(
        "the runtime announces {0} bytes in one piece, and a message has {LONGEST_PIECE} at most: this is not NRI, or another version of it"
    )]
    Piece(usize),
    /// A message that no runtime sends.
    #[error(
        "the runtime announces a message of {0} bytes, and the most is {limit}: this is not NRI, or another version of it",
        limit = message::LONGEST
    )]
    Message(usize),
}

/// The socket, and what has arrived of messages that are not whole yet.
#[derive(Debug)]
pub struct Trunk {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
    plugin: BytesMut,
    runtime: BytesMut,
}

impl Trunk {
    /// Takes a connected socket.
    ///
    /// # Errors
    /// When the kernel has no descriptor left.
    pub fn new(socket: UnixStream) -> io::Result<Self> {
        Ok(Self {
            writer: socket.try_clone()?,
            reader: BufReader::with_capacity(BUFFER, socket),
            plugin: BytesMut::new(),
            runtime: BytesMut::new(),
        })
    }

    /// How long a read may take; `None` for as long as the runtime wants.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn set_patience(&self, patience: Option<Duration>) -> io::Result<()> {
        self.writer.set_read_timeout(patience)
    }

    /// Waits until more arrives, for this long at most; says whether it did.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn wait(&self, patience: Duration) -> Result<bool, TrunkError> {
        if !self.reader.buffer().is_empty() || !self.plugin.is_empty() || !self.runtime.is_empty() {
            return Ok(true);
        }
        let mut ready = [PollFd::new(&self.writer, PollFlags::IN)];
        let patience = Timespec::try_from(patience).ok();
        match poll(&mut ready, patience.as_ref()) {
            Ok(count) => Ok(count > 0),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(TrunkError::Io(error.into())),
        }
    }

    /// Reads until a message is whole, and says on which connection it came.
    ///
    /// # Errors
    /// When the socket is of no use any more.
    pub fn receive(&mut self) -> Result<(u32, Message), TrunkError> {
        loop {
            if let Some(message) = whole(&mut self.plugin)? {
                return Ok((PLUGIN_CONNECTION, message));
            }
            if let Some(message) = whole(&mut self.runtime)? {
                return Ok((RUNTIME_CONNECTION, message));
            }
            self.piece()?;
        }
    }

    fn piece(&mut self) -> Result<(), TrunkError> {
        let mut numbers = [[0; 4]; 2];
        self.read(numbers.as_flattened_mut())?;
        let [connection, length] = numbers.map(u32::from_be_bytes);
        let mut left = usize::try_from(length).unwrap_or(usize::MAX);
        if left > LONGEST_PIECE {
            return Err(TrunkError::Piece(left));
        }
        while left > 0 {
            let chunk = match self.reader.fill_buf() {
                Ok([]) => return Err(TrunkError::Closed),
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(TrunkError::Io(error)),
            };
            let length = chunk.len().min(left);
            let part = chunk.get(..length).unwrap_or_default();
            match connection {
                PLUGIN_CONNECTION => self.plugin.extend_from_slice(part),
                RUNTIME_CONNECTION => self.runtime.extend_from_slice(part),
                // A newer runtime's, perhaps: upstream passes over it as well.
                _ => {}
            }
            self.reader.consume(length);
            left -= length;
        }
        Ok(())
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<(), TrunkError> {
        self.reader
            .read_exact(bytes)
            .map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => TrunkError::Closed,
                _ => TrunkError::Io(error),
            })
    }

    /// Sends a message on a connection.
    ///
    /// # Errors
    /// When the socket is of no use any more.
    pub fn send(&mut self, connection: u32, message: &Bytes) -> Result<(), TrunkError> {
        for part in message.chunks(PIECE) {
            let mut piece = Vec::with_capacity(HEADER + part.len());
            piece.extend_from_slice(&connection.to_be_bytes());
            // A part has `PIECE` bytes at most.
            piece.extend_from_slice(&u32::try_from(part.len()).unwrap_or_default().to_be_bytes());
            piece.extend_from_slice(part);
            self.writer.write_all(&piece).map_err(TrunkError::Io)?;
        }
        Ok(())
    }
}

/// Takes a message off the front of a stream, if it is whole.
fn whole(stream: &mut BytesMut) -> Result<Option<Message>, TrunkError> {
    let Some(header) = Header::read(stream) else {
        return Ok(None);
    };
    if header.length > message::LONGEST {
        return Err(TrunkError::Message(header.length));
    }
    let length = message::HEADER + header.length;
    if stream.len() < length {
        return Ok(None);
    }
    let mut bytes = stream.split_to(length);
    if stream.is_empty() {
        // Lets go of what a large message took.
        *stream = BytesMut::new();
    }
    let body = bytes.split_off(message::HEADER).freeze();
    Ok(Some(Message { header, body }))
}
