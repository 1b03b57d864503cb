//! For programs that keep a document up to date after the hook has written it: the hook's own rules for
//! what goes into it, and its own way to write it.

use std::os::fd::OwnedFd;

use device_attributes::document::FILE_NAME;
use device_attributes::read::{self, Reading};
use device_attributes::{Document, Pod};
use rustix::io::Errno;

use crate::absolute_path::AbsolutePath;
use crate::command_line::{CREATE_CONTAINER, PROGRAM, Parsed, UsageError, parse};
use crate::create_container::{export, replace};
use crate::hook_options::{HookOptions, OnError};

/// What a container's hook was told on its command line.
#[derive(Debug)]
pub struct HookWishes(HookOptions);

/// Why the arguments of a hook are not understood.
#[derive(Debug, thiserror::Error)]
pub enum ArgumentsError {
    /// The hook itself does not take them.
    #[error("{0}")]
    Usage(#[from] UsageError),
    /// They are those of something else.
    #[error("these are not the arguments of dra-cdi-hook create-container")]
    Other,
}

/// Why a document is not written.
#[derive(Debug, thiserror::Error)]
pub enum KeepUpError {
    /// The kernel refuses.
    #[error("{FILE_NAME} cannot be written ({step}): {source}")]
    Write {
        /// What failed.
        step: &'static str,
        /// The kernel's answer.
        source: Errno,
    },
    /// More than a reader takes.
    #[error(
        "the document would have {0} bytes, more than the {limit} that a reader takes",
        limit = device_attributes::limits::FILE_BYTES
    )]
    TooLarge(usize),
}

impl HookWishes {
    /// Reads the arguments of an OCI hook (`args`, the program's name first).
    ///
    /// # Errors
    /// When they are not those of `dra-cdi-hook create-container`.
    pub fn of_arguments(arguments: &[String]) -> Result<Self, ArgumentsError> {
        let given = arguments.iter().skip(1).map(Into::into);
        match parse(&PROGRAM, given)? {
            Parsed::Run(invocation) if invocation.command().name == CREATE_CONTAINER.name => {
                Ok(Self(HookOptions::from_invocation(&invocation)?))
            }
            _ => Err(ArgumentsError::Other),
        }
    }

    /// The VM mount's path in the container.
    pub fn vm_mount(&self) -> &str {
        self.0.vm_mount.as_str()
    }

    /// Files of the node that the hook reads beside the container's metadata.
    pub fn attributes(&self) -> impl Iterator<Item = &str> {
        self.0.attributes.iter().map(AbsolutePath::as_str)
    }

    /// Directories of the node with metadata files that it reads as well.
    pub fn metadata_directories(&self) -> impl Iterator<Item = &str> {
        self.0.metadata_dir.iter().map(AbsolutePath::as_str)
    }

    /// Whether what is broken is left out, rather than standing in the way of the whole.
    pub fn skips_what_is_broken(&self) -> bool {
        self.0.on_error == OnError::Skip
    }

    /// The document of what was read, as the hook makes it.
    pub fn document(&self, readings: Vec<Reading>, pod: Pod) -> Document {
        let mut document = read::merge(readings).document;
        document.pod = Some(pod);
        export::restrict(&mut document, &self.0.export);
        document
    }
}

/// Writes the document into a volume, whole or not at all; tells whether it was another one before.
///
/// The directory's content is a stranger's, and nothing in it is followed or trusted.
///
/// # Errors
/// When it is too large, or the kernel refuses.
pub fn write(volume: &OwnedFd, document: &Document) -> Result<bool, KeepUpError> {
    let bytes = document.to_bytes();
    if bytes.len() > device_attributes::limits::FILE_BYTES {
        return Err(KeepUpError::TooLarge(bytes.len()));
    }
    match replace::replace(volume, FILE_NAME, &bytes) {
        Ok(replace::Replaced::Written) => Ok(true),
        Ok(replace::Replaced::Unchanged) => Ok(false),
        Err((step, source)) => Err(KeepUpError::Write { step, source }),
    }
}
