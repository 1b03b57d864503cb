//! File systems that stop answering, in the place of the driver's file and of the VM mount.

use std::io::Write as _;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::count;
use crate::direct::Container;
use crate::fuse::{Fuse, Silence, operation};
use crate::scene::METADATA;

/// More requests than the hook brings about.
const REQUESTS: usize = 40;
/// The time after which the hook is killed.
const DEADLINE: Duration = Duration::from_secs(9);

/// Where such a file system is.
type Place = fn(&Container) -> PathBuf;
/// The bytes of its one file, which is its root then.
type File = Option<&'static [u8]>;

fn start(container: &Container) -> Child {
    let mut child = Command::new(container.hook())
        .arg("create-container")
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(container.state()).unwrap();
    child
}

/// What a run came to.
#[derive(Debug)]
struct Run {
    /// What the server answered.
    answered: Vec<u32>,
    /// Whether the hook ended by itself; else it was killed at its deadline.
    ended: bool,
    /// Whether the server's end had to let it go.
    held: bool,
}

impl Run {
    fn at(&self, operation: u32) -> Option<usize> {
        self.answered.iter().position(|one| *one == operation)
    }

    fn opened(&self) -> bool {
        self.at(operation::OPEN).is_some() || self.at(operation::CREATE).is_some()
    }
}

/// Starts the hook beside a file system that falls silent; the server ends after the hook's deadline.
fn run(place: Place, file: File, silence: Silence) -> Run {
    let container = Container::new();
    let before = container.canary();
    let fuse = Fuse::mount(&place(&container), file, silence);
    let mut child = start(&container);
    thread::sleep(DEADLINE + Duration::from_secs(2));
    let held = child.try_wait().unwrap().is_none();
    let answered = fuse.end();
    let output = child.wait_with_output().unwrap();
    count::run();
    let told = format!("{silence:?}: {output:?}");
    let ended = match (output.status.code(), output.status.signal()) {
        (Some(0), None) => true,
        (None, Some(9)) => false,
        other => panic!("{other:?}: {told}"),
    };
    count::compare(&before, &container.canary(), &told);
    let run = Run {
        answered,
        ended,
        held,
    };
    // Nothing but the whole document ever gets its name.
    if let Some(renamed) = run.at(operation::RENAME) {
        let (written, synced) = (run.at(operation::WRITE), run.at(operation::FSYNC));
        assert!(written < synced && synced < Some(renamed), "{run:?}");
        assert!(written.is_some(), "{run:?}");
    }
    run
}

/// Starts them all at once.
fn runs(silences: impl Iterator<Item = (Place, File, Silence)>) -> Vec<Run> {
    let started: Vec<_> = silences
        .map(|(place, file, silence)| thread::spawn(move || run(place, file, silence)))
        .collect();
    started.into_iter().map(|run| run.join().unwrap()).collect()
}

/// Stopped after each request that there is. With no file open there, the hook is over at its deadline; with one, the
/// kernel wants that closed first (`fuse_flush` waits for its answer, whatever signal there is).
fn a_server_is_stopped(place: Place, file: File, last: u32) {
    let runs = runs((0..REQUESTS).map(|number| (place, file, Silence::After(number))));
    let hung = runs.iter().take_while(|run| !run.ended).count();
    assert!(hung > 3, "{runs:?}");
    for (number, run) in runs.iter().enumerate() {
        assert_eq!(run.ended, number >= hung, "{number}: {runs:?}");
        assert!(!run.ended || run.at(last).is_some(), "{number}: {run:?}");
        assert!(!run.held || run.opened(), "{number}: {run:?}");
    }
}

fn the_drivers_file_is_on_a_server_that_is_stopped() {
    let file = Some(METADATA.as_bytes());
    a_server_is_stopped(Container::metadata, file, operation::READ);
}

fn the_vm_mount_is_on_a_server_that_is_stopped() {
    a_server_is_stopped(Container::vm, None, operation::RENAME);
}

/// What was taken and is not answered holds a process beyond any signal; when the server ends, the hook does, and
/// does nothing more.
fn a_server_holds_a_request() {
    let of_file = [operation::OPEN, operation::READ].map(|held| {
        let place: Place = Container::metadata;
        (place, Some(METADATA.as_bytes()), Silence::Holding(held))
    });
    let of_mount = [
        operation::OPENDIR,
        operation::CREATE,
        operation::WRITE,
        operation::FSYNC,
        operation::RENAME,
    ]
    .map(|held| {
        let place: Place = Container::vm;
        (place, None, Silence::Holding(held))
    });
    for run in runs(of_file.into_iter().chain(of_mount)) {
        assert!(!run.ended && run.held, "{run:?}");
        assert_eq!(run.at(operation::RENAME), None, "{run:?}");
    }
}

pub(crate) const CHECKS: &[(&str, fn())] = &[
    (
        "64_the_drivers_file_is_on_a_server_that_is_stopped",
        the_drivers_file_is_on_a_server_that_is_stopped,
    ),
    (
        "64b_the_vm_mount_is_on_a_server_that_is_stopped",
        the_vm_mount_is_on_a_server_that_is_stopped,
    ),
    ("64c_a_server_holds_a_request", a_server_holds_a_request),
];
