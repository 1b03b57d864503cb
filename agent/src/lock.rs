//! Who may change the network: one pass at a time, and no `revert` beside the service.
//!
//! By `flock(2)`, which goes away with the process that holds it, however that ends.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use tokio::time::Instant;

use crate::pause::pause;
use crate::roots::Roots;
use crate::state_directory;

/// How long another pass is waited for: it asks the kernel some hundred times at most, and the
/// kernel answers within microseconds.
const PATIENCE: Duration = Duration::from_secs(10);
/// The time between two tries.
const PAUSE: Duration = Duration::from_millis(50);
/// The file that the service holds below the agent's directory.
const SERVICE: &str = "service.lock";

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Why a lock cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process has it.
    #[error("another dra-guest-agent holds {}: the service, or a pass (systemctl status dra-guest-agent)", .0.display())]
    Held(PathBuf),
    /// The file system refuses.
    #[error("cannot lock {}: {error}", .path.display())]
    Refused {
        /// What was to be locked.
        path: PathBuf,
        /// The operating system's answer.
        error: io::Error,
    },
}

impl Lock {
    /// The right to change the network, for one pass. The directory itself is locked: that needs no
    /// room in a full `/run`.
    ///
    /// # Errors
    /// When another process does not give it back in time, or the file system refuses.
    pub async fn for_pass(roots: &Roots) -> Result<Self, LockError> {
        let path = state_directory::path(roots);
        let directory = |path: &PathBuf| {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            rustix::fs::open(path, flags, Mode::empty()).map(File::from)
        };
        Self::within_patience(path, |path| match directory(path) {
            Err(Errno::NOENT) => {
                state_directory::create_parent(&path.join(SERVICE))?;
                Ok(directory(path)?)
            }
            other => Ok(other?),
        })
        .await
    }

    /// The right to be the service, or to keep one from starting.
    ///
    /// # Errors
    /// As for [`Lock::for_pass`]; without waiting when not `patient`.
    pub async fn for_service(roots: &Roots, patient: bool) -> Result<Self, LockError> {
        let path = state_directory::path(roots).join(SERVICE);
        let open = |path: &PathBuf| {
            state_directory::create_parent(path)?;
            File::options().create(true).append(true).open(path)
        };
        if patient {
            Self::within_patience(path, open).await
        } else {
            Self::now(&path, open)
        }
    }

    async fn within_patience(
        path: PathBuf,
        open: impl Fn(&PathBuf) -> io::Result<File>,
    ) -> Result<Self, LockError> {
        let mut end = None;
        loop {
            match Self::now(&path, &open) {
                Err(LockError::Held(path)) => {
                    let end = *end.get_or_insert_with(|| Instant::now() + PATIENCE);
                    if Instant::now() >= end {
                        return Err(LockError::Held(path));
                    }
                    pause(PAUSE).await;
                }
                other => return other,
            }
        }
    }

    fn now(path: &PathBuf, open: impl Fn(&PathBuf) -> io::Result<File>) -> Result<Self, LockError> {
        let refused = |error| LockError::Refused {
            path: path.clone(),
            error,
        };
        let file = open(path).map_err(refused)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self { _file: file }),
            Err(Errno::WOULDBLOCK) => Err(LockError::Held(path.clone())),
            Err(error) => Err(refused(error.into())),
        }
    }
}
