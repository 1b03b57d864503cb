//! Keeps the documents of running VMs up to date: when a driver writes a metadata file anew, the document follows.
//!
//! A thread of its own, so that a slow file system never holds up the runtime. `watch` says which files changed,
//! `document` makes the document by the hook's own rules, and `volume` opens the directory that it goes into.

mod document;
mod keeper;
mod volume;
mod watch;

pub use keeper::Keeper;

use std::path::PathBuf;

use device_attributes::Pod;
use dra_cdi_hook::keep_up::HookWishes;

use crate::protocol::detail::Container;

/// A container whose document is kept up to date.
#[derive(Debug)]
pub struct Kept {
    id: String,
    pod: Pod,
    volume: PathBuf,
    metadata: Vec<Metadata>,
    wishes: HookWishes,
}

/// A metadata file.
#[derive(Debug)]
struct Metadata {
    /// Where it is in the container, for messages.
    destination: String,
    /// Where it is on the node.
    source: PathBuf,
}

impl Kept {
    /// What the runtime says of a container.
    pub fn new(
        container: &Container,
        pod: Pod,
        volume: &str,
        metadata: &[(&str, &str)],
        wishes: HookWishes,
    ) -> Self {
        Self {
            id: container.id.clone(),
            pod,
            volume: volume.into(),
            metadata: metadata
                .iter()
                .map(|(destination, source)| Metadata {
                    destination: (*destination).to_owned(),
                    source: source.into(),
                })
                .collect(),
            wishes,
        }
    }

    /// The container's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Its pod, for messages.
    fn shown(&self) -> String {
        format!("{}/{}", self.pod.namespace, self.pod.name)
    }
}
