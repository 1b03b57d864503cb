//! Asking a program of the node for its version.
//!
//! The one place where this program starts another: the doctor is run by an administrator, never by a
//! container runtime.

use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use device_attributes::one_line;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// How long a program may take to say its version.
const DEADLINE: Duration = Duration::from_secs(5);
/// The most bytes of what it says that are read.
const BYTES: usize = 4096;
/// The most bytes of its first line that are shown.
const LINE_BYTES: usize = 160;

/// The first line that `PATH --version` prints.
///
/// # Errors
/// A few words on why there is none.
pub(super) fn version(path: &str) -> Result<String, String> {
    let mut child = Command::new(path)
        .arg("--version")
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("it cannot be started: {error}"))?;
    let text = match child.stdout.take() {
        Some(output) => read(&output, DEADLINE),
        None => Ok(Vec::new()),
    };
    // It has ended, or may not go on.
    let _ = child.kill();
    let _ = child.wait();
    let text = text?;
    let text = String::from_utf8_lossy(&text);
    match text.lines().find(|line| !line.trim().is_empty()) {
        Some(line) => Ok(one_line(line.trim(), LINE_BYTES)),
        None => Err("it said nothing".to_owned()),
    }
}

/// Reads what it says until its end, or until it has said or taken too much.
fn read(output: &impl AsFd, deadline: Duration) -> Result<Vec<u8>, String> {
    let start = Instant::now();
    let mut text = Vec::new();
    let mut chunk = [0_u8; 1024];
    while text.len() < BYTES {
        let left = deadline.saturating_sub(start.elapsed());
        let timeout = Timespec::try_from(left).unwrap_or_default();
        match poll(&mut [PollFd::new(output, PollFlags::IN)], Some(&timeout)) {
            Ok(0) => return Err(format!("it said nothing within {} s", deadline.as_secs())),
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(format!("it cannot be heard: {error}")),
        }
        match rustix::io::read(output, &mut chunk) {
            Ok(0) => break,
            Ok(count) => text.extend_from_slice(chunk.get(..count).unwrap_or_default()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(format!("it cannot be heard: {error}")),
        }
    }
    Ok(text)
}

/// Major and minor of the first version number in a line: `containerd github.com/… v2.1.9 …` is (2, 1).
pub(super) fn numbers(line: &str) -> Option<(u32, u32)> {
    line.split([' ', ',']).find_map(|word| {
        let word = word.strip_prefix('v').unwrap_or(word);
        let mut parts = word.splitn(3, '.');
        let major = parts.next()?.parse().ok()?;
        let minor = parts.next()?;
        let digits = minor
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(minor.len());
        Some((major, minor.get(..digits)?.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_runtimes_print_them() {
        for (line, expected) in [
            (
                "containerd github.com/containerd/containerd/v2 v2.4.2 abc",
                Some((2, 4)),
            ),
            (
                "containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+b1",
                Some((1, 6)),
            ),
            ("crio version 1.36.3", Some((1, 36))),
            ("podman version 4.3.1", Some((4, 3))),
            ("Docker version 28.2.2, build e6534b4", Some((28, 2))),
            ("runc version 1.1.5+ds1", Some((1, 1))),
            ("no number", None),
        ] {
            assert_eq!(numbers(line), expected, "{line}");
        }
    }

    #[test]
    fn a_program_that_says_nothing_is_no_version() {
        let nothing = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(read(&nothing, DEADLINE), Ok(vec![]));
        let (silent, _writer) = std::io::pipe().unwrap();
        let result = read(&silent, Duration::from_millis(20));
        assert!(result.unwrap_err().starts_with("it said nothing within"));
        assert!(
            version("/no/such/program")
                .unwrap_err()
                .starts_with("it cannot be started")
        );
    }
}
