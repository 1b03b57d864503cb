//! The OCI bundle: where the container's root file system is.

use std::borrow::Cow;
use std::os::fd::OwnedFd;

use rustix::fs::{CWD, Mode, OFlags, openat};
use serde::Deserialize;

use super::error::Error;
use super::pod::PodAnnotations;
use super::regular_file;
use super::state::State;

/// The most bytes of a `config.json` that are read.
const CONFIG_BYTES: usize = 16 << 20;

/// `config.json`, as far as the hook needs it.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct Config {
    #[serde(default)]
    root: Option<ConfigRoot>,
    #[serde(default)]
    annotations: Option<PodAnnotations>,
    /// What is mounted in the container, in the order in which it is.
    #[serde(default)]
    pub(crate) mounts: Vec<ConfigMount>,
}

/// A mount of `config.json`.
#[derive(Debug, Clone, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct ConfigMount {
    /// Where it is in the container.
    pub(crate) destination: String,
    /// What it is on the node, with a bind mount.
    #[serde(default)]
    pub(crate) source: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
struct ConfigRoot {
    path: String,
}

/// What the state and the bundle say of the container.
#[derive(Debug)]
pub(crate) struct Bundle {
    /// The root file system, opened as a place only (`O_PATH`).
    pub(crate) rootfs: OwnedFd,
    /// Its path, for messages.
    pub(crate) rootfs_path: String,
    /// The annotations that name the pod.
    pub(crate) annotations: PodAnnotations,
    /// `config.json`.
    pub(crate) configuration: Configuration,
}

/// `config.json`, read already or only where somebody asks for it.
#[derive(Debug)]
pub(crate) enum Configuration {
    /// It had to be read.
    Read(Box<Config>),
    /// The state said enough. This is its bundle.
    Unread(Option<String>),
}

impl Configuration {
    /// What is mounted in the container.
    pub(crate) fn mounts(&self) -> Result<Cow<'_, [ConfigMount]>, Error> {
        match self {
            Self::Read(config) => Ok(Cow::Borrowed(&config.mounts)),
            Self::Unread(bundle) => {
                let (bundle, path) = open_bundle(bundle.clone())?;
                Ok(Cow::Owned(read_config(&bundle, &path)?.mounts))
            }
        }
    }
}

impl Bundle {
    /// Finds the root file system: `root` of the state, else `root.path` of `config.json`.
    ///
    /// Both may be relative to the bundle. Never the working directory, which differs by runtime,
    /// and never a guessed `rootfs` in the bundle. In a user namespace `config.json` may be closed
    /// to the hook; a state with an absolute `root` needs neither it nor the bundle.
    pub(crate) fn open(state: State) -> Result<Self, Error> {
        if let Some(root) = state.root.filter(|root| !root.is_empty()) {
            let rootfs = if root.starts_with('/') {
                open_place(CWD, &root, ROOTFS)?
            } else {
                let (bundle, _) = open_bundle(state.bundle.clone())?;
                open_place(&bundle, &root, ROOTFS)?
            };
            return Ok(Self {
                rootfs,
                rootfs_path: root,
                annotations: state.annotations.unwrap_or_default(),
                configuration: Configuration::Unread(state.bundle),
            });
        }
        let (bundle, bundle_path) = open_bundle(state.bundle)?;
        let mut config = read_config(&bundle, &bundle_path)?;
        let root = match config.root.take() {
            Some(root) if !root.path.is_empty() => root.path,
            _ => {
                return Err(Error::Config {
                    path: format!("{bundle_path}/config.json"),
                    reason: "\"root.path\" is missing, which says where the container's files are"
                        .to_owned(),
                });
            }
        };
        Ok(Self {
            rootfs: open_place(&bundle, &root, ROOTFS)?,
            rootfs_path: root,
            annotations: state
                .annotations
                .or_else(|| config.annotations.take())
                .unwrap_or_default(),
            configuration: Configuration::Read(Box::new(config)),
        })
    }
}

const ROOTFS: &str = "the container's root file system";

/// Opens a directory that the runtime named. Its path is the node's own, so that a symbolic link
/// on it is the administrator's and is followed; an absolute path stands for itself.
fn open_place(
    directory: impl std::os::fd::AsFd,
    path: &str,
    what: &'static str,
) -> Result<OwnedFd, Error> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(directory, path, flags, Mode::empty()).map_err(|source| Error::Open {
        what,
        path: path.to_owned(),
        source,
    })
}

fn open_bundle(path: Option<String>) -> Result<(OwnedFd, String), Error> {
    let path = path
        .filter(|path| !path.is_empty())
        .ok_or(Error::StateMissing("bundle"))?;
    if !path.starts_with('/') {
        return Err(Error::BundleRelative(path));
    }
    Ok((open_place(CWD, &path, "the bundle")?, path))
}

fn read_config(bundle: &OwnedFd, bundle_path: &str) -> Result<Config, Error> {
    let path = || format!("{bundle_path}/config.json");
    let wrong = |reason: String| Error::Config {
        path: path(),
        reason,
    };
    let open = |source| Error::Open {
        what: "the container's configuration",
        path: path(),
        source,
    };
    // Without O_NONBLOCK a FIFO in its place would hold the hook until it is killed.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = openat(bundle, "config.json", flags, Mode::empty()).map_err(open)?;
    let bytes = regular_file::read(&file, CONFIG_BYTES)
        .map_err(open)?
        .ok_or_else(|| {
            wrong(format!(
                "this is not a regular file of at most {CONFIG_BYTES} bytes"
            ))
        })?;
    serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))
}
