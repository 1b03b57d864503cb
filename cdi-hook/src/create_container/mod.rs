//! `create-container`: from the container's state to the document in the VM mount.

mod bundle;
mod error;
pub(crate) mod export;
mod leftovers;
mod log;
mod metadata;
mod pod;
mod pod_volume;
mod regular_file;
pub(crate) mod replace;
mod rootfs;
mod state;
mod vm_mount;

use std::os::fd::AsFd;
use std::process::ExitCode;

use device_attributes::read::Reading;
use device_attributes::{Document, limits};

use self::bundle::Bundle;
use self::error::Error;
use self::metadata::Sources;
use self::pod::PodAnnotations;
use self::replace::Replaced;
use self::rootfs::Rootfs;
use self::state::State;
use self::vm_mount::VmMount;
use crate::fence;
use crate::hook_options::{HookOptions, OnError, VmMountSource};

/// Runs `dra-cdi-hook create-container`.
pub(crate) fn main(options: &HookOptions) -> ExitCode {
    let mut missing = fence::first();
    log::start(options.log.as_ref());
    missing.extend(fence::enter());
    for layer in missing {
        tracing::info!("{layer}");
    }
    match run(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if options.on_error == OnError::Skip && error.is_broken_content() => {
            tracing::error!(
                "{error}; nothing is written and the container starts (--on-error skip)"
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::from(1)
        }
    }
}

fn run(options: &HookOptions) -> Result<(), Error> {
    let state = State::read(std::io::stdin().as_fd(), state::DEADLINE)?;
    if let Some(id) = &state.id {
        log::set_container(id);
    }
    let bundle = Bundle::open(state)?;
    let rootfs = Rootfs::new(bundle.rootfs, &bundle.rootfs_path)?;
    let sources = Sources::open(&rootfs, options)?;
    // Whether it is there is of no matter until there is something to write.
    let mount = VmMount::open(&rootfs, &options.vm_mount).and_then(|mount| {
        if options.vm_mount_source == VmMountSource::Pod {
            pod_volume::check(&mount, &bundle.annotations, &bundle.configuration)?;
        }
        Ok(mount)
    });
    let reading = if sources.is_empty() {
        None
    } else {
        confine(&sources, mount.as_ref().ok());
        sources.read(&rootfs, options.on_error).transpose()
    };
    let Some(reading) = reading else {
        tracing::info!("the container has no DRA metadata: nothing is written");
        return Ok(());
    };
    // A refusal stands before what is broken: no policy passes over it.
    let mount = mount?;
    let reading = reading?;
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

/// From here on the sources and the VM mount are all of the file system that there is.
fn confine(sources: &Sources<'_>, mount: Option<&VmMount>) {
    let places = fence::Files {
        read: sources.directories().collect(),
        write: mount.map(AsFd::as_fd),
    };
    if let Some(layer) = places.confine() {
        tracing::info!("{layer}");
    }
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
