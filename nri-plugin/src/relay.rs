//! Asks the relay what claims and slices say of a pod's devices, for drivers that write no metadata.
//!
//! One line each way: `{"namespace":…,"name":…,"uid":…}`, then the document of the pod, or `{"error":…}` with a
//! sentence. The relay closes the connection behind it.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use device_attributes::{Pod, ReadError, limits, read};
use serde::{Deserialize, Serialize};

/// How the relay is asked.
#[derive(Debug, Clone)]
pub struct Relay {
    /// Its socket.
    pub socket: PathBuf,
    /// How long it may take.
    pub patience: Duration,
    /// Where its answers are put, for the hook.
    pub answers: PathBuf,
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

#[derive(Serialize)]
struct Question<'a> {
    namespace: &'a str,
    name: &'a str,
    uid: &'a str,
}

#[derive(Deserialize)]
struct Refusal {
    error: String,
}

impl Relay {
    /// Asks, and puts the answer into a file for the container; `None` where the pod has no devices.
    ///
    /// # Errors
    /// When there is no answer in time, or it cannot be used or written.
    pub fn answer_file(&self, container: &str, pod: &Pod) -> Result<Option<String>, RelayError> {
        let answer = self.ask(pod).map_err(|source| RelayError::Silent {
            socket: self.socket.display().to_string(),
            source,
        })?;
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

    fn ask(&self, pod: &Pod) -> io::Result<Vec<u8>> {
        let deadline = Instant::now() + self.patience;
        let left = || match deadline.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
            left => Ok::<_, io::Error>(left),
        };
        let mut socket = UnixStream::connect(&self.socket)?;
        let mut line = serde_json::to_vec(&Question {
            namespace: pod.namespace.as_str(),
            name: pod.name.as_str(),
            uid: pod.uid.as_ref().map_or("", |uid| uid.as_str()),
        })
        .map_err(io::Error::other)?;
        line.push(b'\n');
        socket.set_write_timeout(Some(left()?))?;
        socket.write_all(&line)?;
        let mut answer = Vec::new();
        let mut chunk = [0; 8192];
        loop {
            socket.set_read_timeout(Some(left()?))?;
            let count = match socket.read(&mut chunk) {
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
