//! Reads the attributes in a thread of its own, so that a share whose server has died does not hold up the service.
//!
//! A read of virtiofs that its server does not answer waits where no signal reaches it (Linux, `fs/fuse/dev.c`,
//! `request_wait_answer`), and the kernel offers no way to give it up. Then this thread waits, and the service goes on
//! with what it knows.

use std::io;
use std::sync::mpsc::{self as questions, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use nix::sched::{CloneFlags, unshare};
use tokio::sync::mpsc as answers;
use tokio::time::timeout;

use crate::exit::Ended;
use crate::roots::Roots;
use crate::source::{self, LoadError, Loaded, PATIENCE, Places};

type Answer = Result<Loaded, LoadError>;

/// The thread, and what is under way with it.
#[derive(Debug)]
pub(super) struct Reader {
    ask: SyncSender<()>,
    answers: answers::Receiver<Answer>,
    /// Whether it was asked and has not answered.
    is_asked: bool,
}

impl Reader {
    /// Starts the thread. It holds no descriptor that is opened after this: a lock goes away with the process even
    /// while the thread waits. Signals that are to reach others are blocked before.
    ///
    /// # Errors
    /// When the kernel gives no thread.
    pub(super) fn start(roots: &Roots, places: &Places) -> Result<Self, Ended> {
        let (roots, places) = (roots.clone(), places.clone());
        Self::start_with(move || source::load(&roots, &places, source::open))
            .map_err(|error| Ended::failed(format!("cannot start a thread that reads: {error}")))
    }

    fn start_with(load: impl Fn() -> Answer + Send + 'static) -> io::Result<Self> {
        let (ask, asked) = sync_channel(1);
        let (answer, answers) = answers::channel(1);
        let (apart, is_apart) = sync_channel(1);
        thread::Builder::new()
            .name("reader".to_owned())
            .spawn(move || {
                if apart.send(unshare(CloneFlags::CLONE_FILES)).is_ok() {
                    serve(&asked, &answer, load);
                }
            })?;
        is_apart.recv().map_err(io::Error::other)??;
        Ok(Self {
            ask,
            answers,
            is_asked: false,
        })
    }

    /// What the sources say now; none when one of them does not answer. After that it is not waited for again: what
    /// it says once it does answer is told then.
    pub(super) async fn load(&mut self) -> Option<Answer> {
        let patience = if self.is_asked {
            Duration::ZERO
        } else {
            // There is room: it has answered what it was asked before.
            self.is_asked = self.ask.try_send(()).is_ok();
            PATIENCE
        };
        let answer = timeout(patience, self.answers.recv()).await.ok()?;
        self.is_asked = false;
        answer
    }
}

/// What is said while a source does not answer, by what is in force.
pub(super) fn silence(loaded: Option<&Loaded>) -> String {
    let (what, then) = match loaded {
        Some(loaded) => (
            loaded.path.display().to_string(),
            "; what it said before is in force",
        ),
        None => ("a place of the device attributes".to_owned(), ""),
    };
    let seconds = PATIENCE.as_secs();
    format!(
        "the share does not answer: a read of {what} has waited longer than {seconds} s \
         (does virtiofsd still run on the node?){then}"
    )
}

/// Until the service ends.
fn serve(
    asked: &questions::Receiver<()>,
    answer: &answers::Sender<Answer>,
    load: impl Fn() -> Answer,
) {
    while asked.recv().is_ok() {
        if answer.blocking_send(load()).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn word(text: &str) -> Answer {
        Err(LoadError::NotYet(text.to_owned()))
    }

    fn text(answer: Option<Answer>) -> String {
        answer.unwrap().unwrap_err().to_string()
    }

    #[tokio::test(start_paused = true)]
    async fn what_does_not_answer_is_waited_for_once_and_heard_when_it_does() {
        let (release, released) = sync_channel::<&'static str>(0);
        let released = Mutex::new(released);
        let mut reader =
            Reader::start_with(move || word(released.lock().unwrap().recv().unwrap())).unwrap();
        let start = tokio::time::Instant::now();
        assert!(reader.load().await.is_none());
        assert_eq!(start.elapsed(), PATIENCE);
        for _ in 0..3 {
            assert!(reader.load().await.is_none());
        }
        assert_eq!(start.elapsed(), PATIENCE);
        release.send("late").unwrap();
        // The clock stands still while a thread is waited for, and jumps when none is: so this one is real.
        let heard = loop {
            match reader.load().await {
                Some(answer) => break text(Some(answer)),
                None => thread::yield_now(),
            }
        };
        assert!(heard.ends_with("late"), "{heard}");
    }

    #[test]
    fn the_thread_holds_no_descriptor_of_later() {
        let (path_of, paths) = sync_channel(0);
        let mut reader = Reader::start_with(move || {
            let links = std::fs::read_dir("/proc/thread-self/fd").unwrap();
            let targets = links.flatten().map(|link| std::fs::read_link(link.path()));
            path_of.send(targets.flatten().collect::<Vec<_>>()).unwrap();
            word("none")
        })
        .unwrap();
        let later = tempfile::NamedTempFile::new().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread();
        let mut runtime = runtime;
        let runtime = runtime.enable_time().build().unwrap();
        let asked = thread::spawn(move || paths.recv().unwrap());
        assert!(text(runtime.block_on(reader.load())).ends_with("none"));
        let held = asked.join().unwrap();
        assert!(!held.iter().any(|path| path == later.path()), "{held:?}");
        assert!(!held.is_empty());
    }
}
