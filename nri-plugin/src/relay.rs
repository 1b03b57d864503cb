//! Asks the relay what claims and slices say of a pod's devices, for drivers that write no metadata.
//!
//! One line each way: `{"namespace":…,"name":…,"uid":…,"within_milliseconds":…}`, then the document of the pod, or
//! `{"error":…}` with a sentence. The relay closes the connection behind it.
//!
//! The runtime creates one container after the other, and waits with all of them for what is asked here. So a relay
//! that was silent once is asked nothing for a while.

mod conversation;

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use device_attributes::{Pod, ReadError, read};
use serde::Deserialize;

use crate::command_line::Arguments;

/// For so long a relay that did not answer in time is asked nothing.
const REST: Duration = Duration::from_secs(5);

/// How the relay is asked. Clones are one to its rest.
#[derive(Debug, Clone)]
pub struct Relay {
    /// Its socket.
    socket: PathBuf,
    /// How long it may take.
    patience: Duration,
    /// Where its answers are put, for the hook.
    answers: PathBuf,
    /// Until when it is asked nothing.
    rests_until: Arc<Mutex<Option<Instant>>>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// It is not there, or did not answer in time.
    #[error("{socket}: the relay does not answer: {source}")]
    Silent {
        /// Its socket.
        socket: String,
        /// What happened.
        source: io::Error,
    },
    /// It did not answer a moment ago.
    #[error("{socket}: the relay has not answered in time, and is asked again in {seconds} s")]
    Rests {
        /// Its socket.
        socket: String,
        /// For so long it is not asked.
        seconds: u64,
    },
    /// It answers that it has none.
    #[error("the relay says: {0}")]
    None(String),
    /// What it answers is no document.
    #[error("the relay's answer cannot be used: {0}")]
    Answer(#[from] ReadError),
    /// The answer cannot be put where the hook finds it.
    #[error("{path} cannot be written: {source}")]
    Write {
        /// The file.
        path: String,
        /// The kernel's answer.
        source: io::Error,
    },
}

#[derive(Deserialize)]
struct Refusal {
    error: String,
}

impl Relay {
    /// As the command line has it, if it has one.
    pub fn new(arguments: &Arguments) -> Option<Self> {
        Some(Self {
            socket: arguments.attributes_socket.clone()?,
            patience: arguments.attributes_timeout,
            answers: arguments.state.clone().into(),
            rests_until: Arc::default(),
        })
    }

    /// Asks, and puts the answer into a file for the container; `None` where the pod has no devices.
    ///
    /// # Errors
    /// When there is no answer in time, or it cannot be used or written.
    pub fn answer_file(&self, container: &str, pod: &Pod) -> Result<Option<String>, RelayError> {
        let answer = self.ask(pod)?;
        if let Ok(Refusal { error }) = serde_json::from_slice(&answer) {
            return Err(RelayError::None(error));
        }
        let reading = read::read("the relay's answer", &answer)?;
        if reading.document.devices.is_empty() {
            return Ok(None);
        }
        let path = self.file(container);
        self.put(&path, &answer)
            .map_err(|source| RelayError::Write {
                path: path.display().to_string(),
                source,
            })?;
        Ok(Some(path.display().to_string()))
    }

    fn ask(&self, pod: &Pod) -> Result<Vec<u8>, RelayError> {
        let socket = || self.socket.display().to_string();
        let now = Instant::now();
        let rests_until = *self.rest();
        let rest = rests_until.and_then(|until| until.checked_duration_since(now));
        if let Some(rest) = rest.filter(|rest| !rest.is_zero()) {
            return Err(RelayError::Rests {
                socket: socket(),
                // Never "in 0 s".
                seconds: rest.as_secs() + 1,
            });
        }
        let answer = conversation::ask(&self.socket, pod, self.patience);
        *self.rest() = match &answer {
            Err(error) if conversation::is_over(error) => Some(Instant::now() + REST),
            _ => None,
        };
        answer.map_err(|source| RelayError::Silent {
            socket: socket(),
            source,
        })
    }

    fn rest(&self) -> MutexGuard<'_, Option<Instant>> {
        self.rests_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes whole or not at all. Root alone may write there, so that nobody else can put a link there. The hook of a
    /// container with a user namespace is not root on the node, and has to read it.
    fn put(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o711)
            .create(&self.answers)?;
        let temporary = path.with_extension("new");
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o644)
            .open(&temporary)?;
        file.write_all(bytes)?;
        fs::rename(&temporary, path)
    }

    /// The container is gone.
    pub fn forget(&self, container: &str) {
        // It may never have had one.
        let _ = fs::remove_file(self.file(container));
    }

    /// These are all containers that there are.
    pub fn forget_all_but<'a>(&self, containers: impl Iterator<Item = &'a str>) {
        let kept: Vec<PathBuf> = containers.map(|container| self.file(container)).collect();
        let Ok(entries) = fs::read_dir(&self.answers) else {
            return;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            let is_answer = path
                .extension()
                .is_some_and(|extension| extension == "json" || extension == "new");
            if is_answer && !kept.contains(&path) {
                let _ = fs::remove_file(path);
            }
        }
    }

    /// Whether this is the file of an answer.
    pub fn is_answer(&self, file: &str) -> bool {
        Path::new(file).parent() == Some(&self.answers)
    }

    /// An id is the runtime's, in hexadecimal digits; whatever else it may have is no part of a name.
    fn file(&self, container: &str) -> PathBuf {
        let plain = container
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .take(128);
        self.answers.join(plain.collect::<String>() + ".json")
    }
}
