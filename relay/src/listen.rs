//! Who connects: UNIX sockets of one guest each, and `AF_VSOCK` with the peer's CID.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use device_attributes::report::PORT;
use tokio::net::{UnixListener, UnixStream};
use tokio::time::sleep;
use tokio_vsock::{VMADDR_CID_ANY, VsockAddr, VsockListener};
use tracing::warn;

use crate::monitoring::metrics;
use crate::rate::Rate;
use crate::roster::Roster;

/// A pause after a failed accept: what the system is short of does not come back by asking at once.
const AFTER_FAILURE: Duration = Duration::from_millis(100);

const NOBODY: &str = "connection closed: no guest with claims has this CID";

/// Why the relay cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Something else than a socket has the name.
    #[error("{}: this is not a socket, and the relay removes nothing else: move it away", .0.display())]
    NotASocket(PathBuf),
    /// A living program has the socket.
    #[error(
        "{}: another program listens on this socket already: end it, or give the guest another socket",
        .0.display()
    )]
    InUse(PathBuf),
    /// The operating system's answer.
    #[error("{}: the relay cannot listen on this socket: {error}", path.display())]
    Socket {
        /// Where.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The operating system's answer.
    #[error(
        "the relay cannot listen on vsock port {PORT}: {0}; guests for whom no \"socket=\" is given are \
         expected there. Load the kernel module vhost_vsock, end the program that has the port, or name the guests' sockets"
    )]
    Vsock(io::Error),
}

/// A UNIX socket that is removed when it is dropped.
#[derive(Debug)]
pub struct UnixSocket {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode: the name may be another program's by the time of the drop.
    identity: (u64, u64),
}

impl UnixSocket {
    /// Listens at a path. What a relay that was killed has left there is replaced.
    ///
    /// Who may connect is the business of the umask, which [`crate::run`] sets: a mode set after
    /// the bind would leave a moment for others.
    ///
    /// # Errors
    /// The path cannot be had.
    pub fn bind(path: &Path) -> Result<Self, ListenError> {
        let failed = |error| ListenError::Socket {
            path: path.to_owned(),
            error,
        };
        match fs::symlink_metadata(path) {
            Ok(metadata) if !metadata.file_type().is_socket() => {
                return Err(ListenError::NotASocket(path.to_owned()));
            }
            Ok(_) => match std::os::unix::net::UnixStream::connect(path) {
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    fs::remove_file(path).map_err(failed)?;
                }
                Ok(_) => return Err(ListenError::InUse(path.to_owned())),
                Err(error) => return Err(failed(error)),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        let listener = UnixListener::bind(path).map_err(failed)?;
        let metadata = fs::symlink_metadata(path).map_err(failed)?;
        Ok(Self {
            listener,
            path: path.to_owned(),
            identity: (metadata.dev(), metadata.ino()),
        })
    }

    /// Waits for the next connection.
    ///
    /// # Errors
    /// When the system is short of something.
    pub async fn accept(&self) -> io::Result<UnixStream> {
        self.listener.accept().await.map(|(stream, _)| stream)
    }

    /// Hands every connection to the guest with the CID of this socket, for as long as the relay runs.
    pub async fn serve(self, cid: u32, guests: Arc<Roster>) {
        let mut log = Rate::new(Duration::from_secs(1), 10);
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    if !guests.deliver(cid, Box::new(stream)) {
                        metrics::stranger();
                        if log.try_take() {
                            warn!(cid, "{}: {NOBODY}", self.path.display());
                        }
                    }
                }
                Err(error) => {
                    warn!(
                        "{}: a connection cannot be taken: {error}",
                        self.path.display()
                    );
                    sleep(AFTER_FAILURE).await;
                }
            }
        }
    }
}

impl Drop for UnixSocket {
    fn drop(&mut self) {
        let ours = fs::symlink_metadata(&self.path)
            .is_ok_and(|metadata| (metadata.dev(), metadata.ino()) == self.identity);
        if ours && let Err(error) = fs::remove_file(&self.path) {
            warn!(
                "{}: the socket cannot be removed: {error}",
                self.path.display()
            );
        }
    }
}

/// The `AF_VSOCK` listener for all guests that the kernel connects.
#[derive(Debug)]
pub struct Vsock(VsockListener);

impl Vsock {
    /// Listens on [`PORT`].
    ///
    /// # Errors
    /// The kernel has no vsock, or the port is taken.
    pub fn bind() -> Result<Self, ListenError> {
        VsockListener::bind(VsockAddr::new(VMADDR_CID_ANY, PORT))
            .map(Self)
            .map_err(ListenError::Vsock)
    }

    /// Hands every connection to the guest of its CID, for as long as the relay runs. Nobody else is
    /// listened to.
    pub async fn serve(self, guests: Arc<Roster>) {
        let mut log = Rate::new(Duration::from_secs(1), 10);
        loop {
            match self.0.accept().await {
                Ok((stream, peer)) => {
                    if !guests.deliver(peer.cid(), Box::new(stream)) {
                        metrics::stranger();
                        if log.try_take() {
                            warn!(cid = peer.cid(), "vsock: {NOBODY}");
                        }
                    }
                }
                Err(error) => {
                    warn!("vsock: a connection cannot be taken: {error}");
                    sleep(AFTER_FAILURE).await;
                }
            }
        }
    }
}
