//! `uninstall`: removes what is on record, and nothing else.

use std::process::ExitCode;

use rustix::io::Errno;

use super::error::Error;
use super::record::Record;
use super::wanted::{Layout, PROGRAM_FILE};
use super::{How, finish, open_root, put, read_record, say};
use crate::absolute_path::AbsolutePath;
use crate::command_line::{Invocation, UsageError, options};
use crate::node_root::NodeRoot;
use crate::whole_file::{Existing, existing, temporary_name};

/// Runs `dra-cdi-hook uninstall`.
pub(crate) fn main(invocation: &Invocation) -> Result<ExitCode, UsageError> {
    let layout = Layout::from_invocation(invocation)?;
    let root = invocation.required(&options::ROOT)?;
    let how = How::from_invocation(invocation);
    Ok(finish(run(root, &layout, how)))
}

/// Whether all is gone.
fn run(root: AbsolutePath, layout: &Layout, how: How) -> Result<bool, Error> {
    let root = open_root(root)?;
    let path = layout.record(Vec::new()).path();
    let Some(record) = read_record(&root, layout)? else {
        let path = root.shown(&path);
        say(&format!("nothing is installed: there is no {path}"));
        remove_own_directory(&root, layout, how)?;
        return Ok(true);
    };
    let mut left = Record {
        files: Vec::new(),
        ..record.clone()
    };
    let _lock = super::lock(&root, layout)?;
    for file in record.files.iter().rev() {
        // What is left runs it, and so does the next try.
        let is_named = !left.files.is_empty() && file.path.ends_with(PROGRAM_FILE);
        if is_named {
            say(&format!("left {}", root.shown(&file.path)));
        }
        if is_named || !remove_file(&root, &file.path, &record, how)? {
            left.files.push(file.clone());
        }
    }
    if !left.files.is_empty() {
        left.files.reverse();
        if !how.dry_run {
            put(&root, &layout.record(left.to_bytes()))?;
        }
        return Ok(false);
    }
    if !how.dry_run {
        unlink(&root, &path, false)?;
    }
    remove_own_directory(&root, layout, how)?;
    for directory in record.directories.iter().rev() {
        remove_directory(&root, directory, how)?;
    }
    Ok(true)
}

/// Removes a file as it was installed; whether it is gone.
fn remove_file(root: &NodeRoot, path: &str, record: &Record, how: How) -> Result<bool, Error> {
    let shown = root.shown(path);
    let failed = |source| Error::File {
        path: shown.clone(),
        what: "read",
        source,
    };
    let found = match root.parent(path).map_err(failed)? {
        Some((directory, name)) => existing(&directory, name).map_err(failed)?,
        None => Existing::Nothing,
    };
    if !how.dry_run
        && let Some((directory, name)) = path.rsplit_once('/')
    {
        // Of an installation that was interrupted.
        unlink(
            root,
            &format!("{directory}/{}", temporary_name(name)),
            false,
        )?;
    }
    let ours = match &found {
        // Also the second entry of a path.
        Existing::Nothing => return Ok(true),
        Existing::File { bytes, .. } => record.has(path, bytes),
        Existing::Other => false,
    };
    if !ours && !how.force {
        say(&format!(
            "left {shown}: it is not as it was installed; --force removes it"
        ));
        return Ok(false);
    }
    if !how.dry_run {
        unlink(root, path, false)?;
    }
    how.tell("removed", "would remove", &shown);
    Ok(true)
}

/// Removes the record's directory, also what an installation left that was interrupted before it had a record.
fn remove_own_directory(root: &NodeRoot, layout: &Layout, how: How) -> Result<(), Error> {
    let record = layout.record(Vec::new());
    if !how.dry_run {
        let temporary = record.directory.join(&temporary_name(record.name));
        unlink(root, temporary.as_str(), false)?;
    }
    remove_directory(root, record.directory.as_str(), how)
}

/// Removes a directory that install made; one that others use by now stays, and so does a link in its place.
fn remove_directory(root: &NodeRoot, path: &str, how: How) -> Result<(), Error> {
    if how.dry_run {
        return Ok(());
    }
    match unlink(root, path, true) {
        Ok(true) => how.tell("removed", "", &root.shown(path)),
        Ok(false)
        | Err(Error::File {
            source: Errno::NOTEMPTY | Errno::EXIST | Errno::BUSY | Errno::NOTDIR,
            ..
        }) => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Removes a name; whether it was there.
fn unlink(root: &NodeRoot, path: &str, directory: bool) -> Result<bool, Error> {
    root.remove(path, directory).map_err(|source| Error::File {
        path: root.shown(path),
        what: "removed",
        source,
    })
}
