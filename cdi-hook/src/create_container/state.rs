//! The container state that a runtime writes to a hook's standard input.
//!
//! Own types, and few: runtimes differ in all the rest. crun says `pid` 0, `ociVersion` `1.0`,
//! `status` `created` or `starting`, and adds `root`; youki leaves `pid` out. The hook needs none
//! of these but `root`.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use serde::Deserialize;

use super::error::Error;
use super::pod::PodAnnotations;

/// The most bytes of a state that are read.
pub(crate) const BYTES: usize = 1 << 20;
/// How long the state may take. The CDI spec's own timeout is 10 s; this one leaves time to say why.
pub(crate) const DEADLINE: Duration = Duration::from_secs(8);

/// The state, as far as the hook needs it.
#[derive(Debug, Default, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct State {
    /// The container's id, for messages.
    #[serde(default)]
    pub(crate) id: Option<String>,
    /// The bundle's directory.
    #[serde(default)]
    pub(crate) bundle: Option<String>,
    /// crun's own key: `root.path` of the configuration, absolute or relative to the bundle.
    #[serde(default)]
    pub(crate) root: Option<String>,
    /// The annotations that name the pod.
    #[serde(default)]
    pub(crate) annotations: Option<PodAnnotations>,
}

impl State {
    /// Reads and parses the state.
    pub(crate) fn read(input: BorrowedFd<'_>, deadline: Duration) -> Result<Self, Error> {
        Self::parse(&read_to_end(input, deadline)?)
    }

    fn parse(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(Error::StateEmpty);
        }
        serde_json::from_slice(bytes).map_err(Error::StateShape)
    }
}

/// Reads until the end, within bounds of size and time.
fn read_to_end(input: BorrowedFd<'_>, deadline: Duration) -> Result<Vec<u8>, Error> {
    let start = Instant::now();
    let mut bytes = Vec::new();
    // Most states have about one kilobyte.
    let mut chunk = [0_u8; 16 << 10];
    loop {
        let left = deadline.saturating_sub(start.elapsed());
        let timeout = Timespec::try_from(left).map_err(|_| Error::StateTimeout(deadline))?;
        let mut ready = [PollFd::from_borrowed_fd(input, PollFlags::IN)];
        match poll(&mut ready, Some(&timeout)) {
            Ok(0) => return Err(Error::StateTimeout(deadline)),
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(Error::StateRead(error)),
        }
        let count = match rustix::io::read(input, &mut chunk) {
            Ok(0) => return Ok(bytes),
            Ok(count) => count,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(Error::StateRead(error)),
        };
        if bytes.len() + count > BYTES {
            return Err(Error::StateTooLarge(BYTES));
        }
        bytes.extend_from_slice(chunk.get(..count).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn a_state_that_never_ends_meets_its_deadline() {
        let (reader, _writer) = std::io::pipe().unwrap();
        let result = State::read(reader.as_fd(), Duration::from_millis(20));
        assert!(matches!(result, Err(Error::StateTimeout(_))), "{result:?}");
    }

    #[test]
    fn what_runtimes_add_or_leave_out_is_no_error() {
        let state = State::parse(
            br#"{"ociVersion":"1.0","id":"c","pid":0,"status":"starting","bundle":"/b","root":"rootfs","x":[{}]}"#,
        )
        .unwrap();
        assert_eq!(state.bundle.as_deref(), Some("/b"));
        assert_eq!(state.root.as_deref(), Some("rootfs"));
        let state = State::parse(br#"{"annotations":null}"#).unwrap();
        assert!(state.bundle.is_none() && state.annotations.is_none());
    }

    #[test]
    fn what_is_no_state_is_refused() {
        for text in [
            "7",
            "{",
            r#"{"bundle":1}"#,
            r#"{"bundle":"/a","bundle":"/b"}"#,
            "{} {}",
        ] {
            let result = State::parse(text.as_bytes());
            assert!(
                matches!(result, Err(Error::StateShape(_))),
                "{text}: {result:?}"
            );
        }
        assert!(matches!(State::parse(b" \n"), Err(Error::StateEmpty)));
    }
}
