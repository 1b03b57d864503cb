//! irqbalance(1), which moves interrupts about unless it is told not to.
//!
//! It is told by its own socket, `/run/irqbalance/irqbalance<PID>.sock`, as `irqbalance-ui(1)` does:
//! `setup` lists the interrupts that it leaves alone, `settings ban irqs N…` replaces that list. It
//! heeds it from its next look at the interrupts, which is every ten seconds.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::socket::{self, AddressFamily, SockFlag, SockType, UnixAddr};

/// Its directory below `/run`.
const DIRECTORY: &str = "irqbalance";
/// What its socket is called, around its process' id.
const PREFIX: &str = "irqbalance";
const SUFFIX: &str = ".sock";

/// What it reads of a message (`sock_handle` in its `irqbalance.c`), the NUL at its end included.
const MESSAGE_BYTES: usize = 500;
/// The most bytes of an answer: some hundred for each interrupt that it leaves alone.
const ANSWER_BYTES: u64 = 1 << 20;
/// How long it may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// How many directory entries are looked at.
const ENTRIES: usize = 64;

/// An irqbalance that runs, and the interrupts that it leaves alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Irqbalance {
    socket: PathBuf,
    /// The interrupts that it leaves alone by its command line or by its socket.
    pub banned: BTreeSet<u32>,
}

impl Irqbalance {
    /// Finds it below the root of `/run`; none when it does not run, or does not answer.
    pub fn find(run: &Path) -> Option<Self> {
        let entries = run.join(DIRECTORY).read_dir().ok()?;
        entries.take(ENTRIES).find_map(|entry| {
            let socket = entry.ok()?.path();
            let name = socket.file_name()?.to_str()?;
            let process = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
            process.parse::<u32>().ok()?;
            let answer = ask(&socket, "setup").ok()?;
            let banned = banned(&answer);
            Some(Self { socket, banned })
        })
    }

    /// Has it leave these alone, and no others.
    ///
    /// # Errors
    /// When they are more than it can be told, or it does not listen any more.
    pub fn ban(&self, interrupts: &BTreeSet<u32>) -> io::Result<()> {
        let numbers: Vec<String> = interrupts.iter().map(ToString::to_string).collect();
        let message = if numbers.is_empty() {
            "settings ban irqs NONE".to_owned()
        } else {
            format!("settings ban irqs {}", numbers.join(" "))
        };
        if message.len() >= MESSAGE_BYTES {
            let count = numbers.len();
            return Err(io::Error::new(
                ErrorKind::FileTooLarge,
                format!("its messages have room for fewer than {count} interrupts"),
            ));
        }
        ask(&self.socket, &message).map(|_| ())
    }
}

fn ask(socket: &Path, message: &str) -> io::Result<Vec<u8>> {
    let mut stream = connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    // It takes the message for a text of C.
    stream.write_all(&[message.as_bytes(), b"\0"].concat())?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES).read_to_end(&mut answer)?;
    Ok(answer)
}

/// Connects without waiting for room in the queue of one that hangs: it takes two connections there.
fn connect(path: &Path) -> io::Result<UnixStream> {
    let (family, flags) = (
        AddressFamily::Unix,
        SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC,
    );
    let socket = socket::socket(family, SockType::Stream, flags, None)?;
    socket::connect(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

/// As in `SLEEP 10 IRQ 25 LOAD 0 DIFF 0 CLASS 0 BANNED 00000000`.
fn banned(answer: &[u8]) -> BTreeSet<u32> {
    let answer = String::from_utf8_lossy(answer);
    let words: Vec<&str> = answer.split_whitespace().collect();
    let pairs = words.windows(2);
    pairs
        .filter_map(|pair| match pair {
            ["IRQ", number] => number.parse().ok(),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::net::UnixListener;
    use std::thread;

    use super::*;

    #[test]
    fn what_it_says_is_read() {
        let answer =
            b"SLEEP 10 IRQ 25 LOAD 0 DIFF 0 CLASS 0 IRQ 26 LOAD 0 DIFF 0 CLASS 0 BANNED 00000000";
        assert_eq!(banned(answer), BTreeSet::from([25, 26]));
        for none in [
            &b""[..],
            b"SLEEP 10 BANNED 0",
            b"IRQ",
            b"IRQ x IRQ -1",
            b"\xff IRQ",
        ] {
            assert_eq!(banned(none), BTreeSet::new());
        }
    }

    #[test]
    fn one_that_does_not_run_is_not_found() {
        let run = tempfile::tempdir().unwrap();
        assert_eq!(Irqbalance::find(run.path()), None);
        let directory = run.path().join(DIRECTORY);
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join("irqbalance1.sock"), "").unwrap();
        fs::write(directory.join("other"), "").unwrap();
        // What a killed one leaves behind.
        drop(UnixListener::bind(directory.join("irqbalance2.sock")).unwrap());
        assert_eq!(Irqbalance::find(run.path()), None);
    }

    #[test]
    fn one_that_hangs_is_given_up() {
        let run = tempfile::tempdir().unwrap();
        fs::create_dir(run.path().join(DIRECTORY)).unwrap();
        let path = run.path().join(DIRECTORY).join("irqbalance3.sock");
        let listener = UnixListener::bind(&path).unwrap();
        socket::listen(&listener, socket::Backlog::new(1).unwrap()).unwrap();
        let waiting: Vec<_> = (0..8).map_while(|_| connect(&path).ok()).collect();
        assert!(waiting.len() < 8, "its queue takes all");
        assert_eq!(Irqbalance::find(run.path()), None);
    }

    #[test]
    fn more_than_it_can_be_told_is_refused() {
        let run = tempfile::tempdir().unwrap();
        let socket = run.path().join("s");
        let listener = UnixListener::bind(&socket).unwrap();
        let (banned, answering) = (BTreeSet::new(), move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut message = [0; MESSAGE_BYTES];
            let length = stream.read(&mut message).unwrap();
            String::from_utf8(message[..length].to_vec()).unwrap()
        });
        let irqbalance = Irqbalance { socket, banned };
        let error = irqbalance.ban(&(1000..1100).collect()).unwrap_err();
        assert!(error.to_string().contains("fewer than 100"), "{error}");
        let answering = thread::spawn(answering);
        irqbalance.ban(&BTreeSet::from([7, 5])).unwrap();
        assert_eq!(answering.join().unwrap(), "settings ban irqs 5 7\0");
    }
}
