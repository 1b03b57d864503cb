//! `install` and `uninstall`: the hook's binary, its CDI spec and its `hooks.d` entry on a node.
//!
//! The binary comes first and goes last, so that no spec ever names a hook that is not there.

mod error;

mod record;
mod uninstall;
mod wanted;

use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::time::Duration;

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use self::error::Error;
use self::record::{Installed, Record};
pub(crate) use self::uninstall::main as uninstall;
use self::wanted::{Layout, Wanted};
pub(crate) use self::wanted::{PROGRAM_FILE, SPEC_FILE};
use crate::absolute_path::AbsolutePath;
use crate::command_line::{Invocation, UsageError, options};
use crate::hook_options::HookOptions;
use crate::node_root::NodeRoot;
use crate::whole_file::{self, Existing};

/// Runs `dra-cdi-hook install`.
pub(crate) fn main(invocation: &Invocation) -> Result<ExitCode, UsageError> {
    let layout = Layout::from_invocation(invocation)?;
    let hook = HookOptions::from_invocation(invocation)?;
    let root: AbsolutePath = invocation.required(&options::ROOT)?;
    let every = invocation.number(&options::EVERY);
    let mut how = How::from_invocation(invocation);
    let first = install(root.clone(), &layout, &hook, how);
    let Some(every) = every.filter(|_| first.is_ok()) else {
        return Ok(finish(first));
    };
    how.quiet = true;
    loop {
        std::thread::sleep(Duration::from_secs(every.into()));
        if let Err(error) = install(root.clone(), &layout, &hook, how) {
            crate::print_error(&error);
        }
    }
}

/// How to go about it.
#[derive(Debug, Clone, Copy)]
struct How {
    dry_run: bool,
    force: bool,
    /// Of what is unchanged nothing is said.
    quiet: bool,
}

impl How {
    fn from_invocation(invocation: &Invocation) -> Self {
        Self {
            dry_run: invocation.has(&options::DRY_RUN),
            force: invocation.has(&options::FORCE),
            quiet: false,
        }
    }

    /// Tells of one thing that was done, or would be.
    fn tell(self, done: &str, would: &str, path: &str) {
        let what = if self.dry_run { would } else { done };
        say(&format!("{what} {path}"));
    }
}

fn say(line: &str) {
    // Nothing better can be done where standard output is closed; the exit code still tells.
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn finish(result: Result<bool, Error>) -> ExitCode {
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            crate::print_error(&error);
            ExitCode::from(1)
        }
    }
}

fn open_root(path: AbsolutePath) -> Result<NodeRoot, Error> {
    let shown = path.to_string();
    NodeRoot::open(path).map_err(|source| Error::Root {
        path: shown,
        source,
    })
}

fn install(
    root: AbsolutePath,
    layout: &Layout,
    hook: &HookOptions,
    how: How,
) -> Result<bool, Error> {
    let root = open_root(root)?;
    let program = std::fs::read("/proc/self/exe").map_err(Error::Program)?;
    let wanted = layout.files(program, hook);
    let known = read_record(&root, layout)?.unwrap_or_default();
    // What is in the way is known before anything is changed.
    let mut changes = Vec::new();
    for file in &wanted {
        if change(&root, file, &known, how.force)? {
            changes.push(file);
        } else if !how.quiet {
            say(&format!("unchanged {}", root.shown(&file.path())));
        }
    }
    let directories = missing(&root, layout, &wanted)?;
    let mut record = Record {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        files: wanted
            .iter()
            .map(|file| Installed::new(&file.path(), &file.bytes))
            .collect(),
        directories: directories.clone(),
    };
    // A file that an earlier installation put elsewhere stays on the record.
    record.add(&Record {
        files: known
            .files
            .iter()
            .filter(|file| wanted.iter().all(|wanted| wanted.path() != file.path))
            .cloned()
            .collect(),
        ..known.clone()
    });
    if how.dry_run {
        tell(&root, "would make", directories.iter());
        tell(&root, "would write", changes.iter().map(|file| file.path()));
        return Ok(true);
    }
    let record_file = layout.record(record.to_bytes());
    for directory in root
        .missing(&record_file.directory)
        .map_err(|source| directory_error(&root, &record_file, source))?
    {
        make(&root, &directory, record_file.option)?;
    }
    let _lock = lock(&root, layout)?;
    if !changes.is_empty() || !directories.is_empty() {
        // Before and after: whatever interrupts this, all that is there is on record.
        let mut before = known;
        before.add(&record);
        put(&root, &layout.record(before.to_bytes()))?;
    }
    for directory in &directories {
        make(&root, directory, "--prefix, --cdi-dir or --hooks-dir")?;
    }
    tell(&root, "made", directories.iter());
    for file in changes {
        put(&root, file)?;
        tell(&root, "wrote", [file.path()].iter());
    }
    if change(&root, &record_file, &Record::default(), true)? {
        put(&root, &record_file)?;
    }
    Ok(true)
}

/// The directories that are to be made, parents first.
fn missing(root: &NodeRoot, layout: &Layout, wanted: &[Wanted]) -> Result<Vec<String>, Error> {
    let mut missing = Vec::new();
    let record = layout.record(Vec::new());
    let files = wanted.iter().chain([&record]);
    let directories = files.map(|file| (&file.directory, file.option));
    for (path, option) in directories.chain(layout.more_directories()) {
        let found = root.missing(path).map_err(|source| Error::Directory {
            path: root.shown(path.as_str()),
            option,
            source,
        })?;
        for path in found {
            if !missing.contains(&path) {
                missing.push(path);
            }
        }
    }
    Ok(missing)
}

fn make(root: &NodeRoot, path: &str, option: &'static str) -> Result<(), Error> {
    let made = root.make_directory(path);
    made.map(drop).map_err(|source| Error::Directory {
        path: root.shown(path),
        option,
        source,
    })
}

/// Keeps two of these from the same files, until it is dropped.
fn lock(root: &NodeRoot, layout: &Layout) -> Result<OwnedFd, Error> {
    let record = layout.record(Vec::new());
    let failed = |source| directory_error(root, &record, source);
    let directory = root.directory(record.directory.as_str()).map_err(failed)?;
    let directory = directory.ok_or(Errno::NOENT).map_err(failed)?;
    match rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(directory),
        Err(Errno::WOULDBLOCK) => Err(Error::Busy(root.shown(record.directory.as_str()))),
        Err(source) => Err(failed(source)),
    }
}

fn directory_error(root: &NodeRoot, file: &Wanted, source: Errno) -> Error {
    Error::Directory {
        path: root.shown(file.directory.as_str()),
        option: file.option,
        source,
    }
}

fn tell(root: &NodeRoot, what: &str, paths: impl Iterator<Item: AsRef<str>>) {
    for path in paths {
        say(&format!("{what} {}", root.shown(path.as_ref())));
    }
}

/// Whether a file has to be written.
fn change(root: &NodeRoot, file: &Wanted, known: &Record, force: bool) -> Result<bool, Error> {
    let path = file.path();
    let failed = |source| Error::File {
        path: root.shown(&path),
        what: "read",
        source,
    };
    let directory = match root.directory(file.directory.as_str()) {
        Ok(Some(directory)) => directory,
        Ok(None) => return Ok(true),
        Err(source) => return Err(directory_error(root, file, source)),
    };
    match whole_file::existing(&directory, file.name).map_err(failed)? {
        Existing::Nothing => Ok(true),
        Existing::File { bytes, mode } if bytes == file.bytes => Ok(mode != file.mode),
        Existing::File { bytes, .. } if force || known.has(&path, &bytes) => Ok(true),
        Existing::Other if force => Ok(true),
        Existing::File { .. } | Existing::Other => Err(Error::NotOurs {
            path: root.shown(&path),
            option: file.option,
        }),
    }
}

fn put(root: &NodeRoot, file: &Wanted) -> Result<(), Error> {
    let failed = |(step, source)| Error::Write {
        path: root.shown(&file.path()),
        step,
        option: file.option,
        source,
    };
    let directory: OwnedFd = root
        .directory(file.directory.as_str())
        .and_then(|directory| directory.ok_or(Errno::NOENT))
        .map_err(|source| failed(("opening its directory", source)))?;
    whole_file::put(&directory, file.name, &file.bytes, file.mode).map_err(failed)
}

fn read_record(root: &NodeRoot, layout: &Layout) -> Result<Option<Record>, Error> {
    let path = layout.record(Vec::new()).path();
    let bytes = root
        .read(&path, record::BYTES)
        .map_err(|source| Error::File {
            path: root.shown(&path),
            what: "read",
            source,
        })?;
    let record = bytes.map(|bytes| Record::parse(&bytes)).transpose();
    record.map_err(|source| Error::Record {
        path: root.shown(&path),
        source,
    })
}
