//! One question to the relay, and its answer, within a time that nothing the relay does can stretch.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use device_attributes::{Pod, limits};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use serde::Serialize;

#[derive(Serialize)]
struct Question<'a> {
    namespace: &'a str,
    name: &'a str,
    uid: &'a str,
    /// Behind it nobody listens any more.
    within_milliseconds: u64,
}

/// Of the time that the plugin waits the relay is told this part, so that "not known yet" comes in time too.
const TOLD: (u32, u32) = (4, 5);

/// Asks for a pod's document; the answer's bytes.
pub(super) fn ask(socket: &Path, pod: &Pod, patience: Duration) -> io::Result<Vec<u8>> {
    let deadline = Instant::now() + patience;
    let left = || match deadline.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
        left => Ok::<_, io::Error>(left),
    };
    let mut stream = connected(socket, left()?)?;
    let told = patience * TOLD.0 / TOLD.1;
    let mut line = serde_json::to_vec(&Question {
        namespace: pod.namespace.as_str(),
        name: pod.name.as_str(),
        uid: pod.uid.as_ref().map_or("", |uid| uid.as_str()),
        within_milliseconds: u64::try_from(told.as_millis()).unwrap_or(u64::MAX),
    })
    .map_err(io::Error::other)?;
    line.push(b'\n');
    stream.set_write_timeout(Some(left()?))?;
    stream.write_all(&line)?;
    let mut answer = Vec::new();
    let mut chunk = [0; 8192];
    loop {
        stream.set_read_timeout(Some(left()?))?;
        let count = match stream.read(&mut chunk) {
            Ok(0) if answer.is_empty() => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(0) => return Ok(answer),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        answer.extend_from_slice(chunk.get(..count).unwrap_or_default());
        if answer.len() > limits::FILE_BYTES {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("the answer has more than {} bytes", limits::FILE_BYTES),
            ));
        }
    }
}

/// Where a listener that hangs has as many connections waiting as it wanted, the kernel lets the next one wait in
/// `connect` for ever: but for the time to send (`unix_stream_connect` in the kernel's `net/unix/af_unix.c`).
fn connected(path: &Path, patience: Duration) -> io::Result<UnixStream> {
    let socket = socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    set_socket_timeout(&socket, Timeout::Send, Some(patience))?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket.into())
}

/// Whether the time was over: `EAGAIN` is what the kernel answers then, of a connection, a write or a read.
pub(super) fn is_over(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock
    )
}
