//! `create-container`: from the container's state to the document in the VM mount.

mod bundle;
mod error;
pub(crate) mod export;
mod leftovers;
mod log;
mod metadata;
mod pod;
mod regular_file;
pub(crate) mod replace;
mod rootfs;
mod state;
mod vm_mount;

use std::os::fd::AsFd;
use std::process::ExitCode;

use device_attributes::read::Reading;
use device_attributes::{Document, limits};
use rustix::process::{Resource, Rlimit, setrlimit};

use self::bundle::Bundle;
use self::error::Error;
use self::pod::PodAnnotations;
use self::replace::Replaced;
use self::rootfs::Rootfs;
use self::state::State;
use self::vm_mount::VmMount;
use crate::hook_options::{HookOptions, OnError};

/// The most address space that the hook takes: many times what the largest allowed input needs,
/// and little enough that no input can press on the node.
const ADDRESS_SPACE: u64 = 1 << 30;

/// Runs `dra-cdi-hook create-container`.
pub(crate) fn main(options: &HookOptions) -> ExitCode {
    log::start(options.log.as_ref());
    match (run(options), options.on_error) {
        (Ok(()), _) => ExitCode::SUCCESS,
        (Err(error), OnError::Fail) => {
            tracing::error!("{error}");
            ExitCode::from(1)
        }
        (Err(error), OnError::Skip) => {
            tracing::error!(
                "{error}; nothing is written and the container starts (--on-error skip)"
            );
            ExitCode::SUCCESS
        }
    }
}

/// Descriptors that a runtime may have leaked are left alone: the hook starts no program that
/// could inherit them. The umask too: every file that it makes gets its mode by descriptor.
fn run(options: &HookOptions) -> Result<(), Error> {
    let limit = Rlimit {
        current: Some(ADDRESS_SPACE),
        maximum: Some(ADDRESS_SPACE),
    };
    if let Err(error) = setrlimit(Resource::As, limit) {
        tracing::debug!("the limit of address space is left as it is: {error}");
    }
    let state = State::read(std::io::stdin().as_fd(), state::DEADLINE)?;
    if let Some(id) = &state.id {
        log::set_container(id);
    }
    let bundle = Bundle::open(state)?;
    let rootfs = Rootfs::new(bundle.rootfs, &bundle.rootfs_path)?;
    let Some(reading) = metadata::gather(&rootfs, options)? else {
        tracing::info!("the container has no DRA metadata: nothing is written");
        return Ok(());
    };
    let Some(mut document) = usable(reading, options.on_error)? else {
        tracing::error!("no device can be used: nothing is written (--on-error skip)");
        return Ok(());
    };
    name_pod(&mut document, &bundle.annotations);
    export::restrict(&mut document, &options.export);
    let bytes = document.to_bytes();
    if bytes.len() > limits::FILE_BYTES {
        return Err(Error::DocumentTooLarge {
            bytes: bytes.len(),
            limit: limits::FILE_BYTES,
        });
    }
    let mount = VmMount::open(&rootfs, &options.vm_mount)?;
    let count = document.devices.len();
    match mount.write(&bytes)? {
        Replaced::Written => {
            tracing::info!("wrote {}, devices: {count}", mount.document_path());
        }
        Replaced::Unchanged => tracing::info!(
            "{} is already as it should be, devices: {count}",
            mount.document_path()
        ),
    }
    Ok(())
}

/// The document of a reading, after its notes and what was rejected have been told.
///
/// `None` where all was rejected: a document without devices would say that there are none.
fn usable(reading: Reading, on_error: OnError) -> Result<Option<Document>, Error> {
    for note in reading.notes {
        tracing::info!("{note}");
    }
    let none_left = reading.document.devices.is_empty() && !reading.rejected.is_empty();
    let end = match on_error {
        OnError::Fail => "",
        OnError::Skip => "; it is left out (--on-error skip)",
    };
    let mut rejected = reading.rejected.into_iter().map(|rejected| rejected.error);
    // The first is the error that the hook fails with.
    let failure = (on_error == OnError::Fail)
        .then(|| rejected.next())
        .flatten();
    let more = rejected.len().saturating_sub(limits::NOTES);
    for error in rejected.take(limits::NOTES) {
        tracing::error!("{error}{end}");
    }
    if more > 0 {
        tracing::error!("{more} more broken devices or files are not named here{end}");
    }
    match failure {
        Some(error) => Err(error.into()),
        None => Ok((!none_left).then_some(reading.document)),
    }
}

/// The runtime knows the pod better than any input.
fn name_pod(document: &mut Document, annotations: &PodAnnotations) {
    match annotations.pod() {
        Ok(Some(pod)) => document.pod = Some(pod),
        Ok(None) => {}
        Err(note) => tracing::warn!("{note}"),
    }
}
