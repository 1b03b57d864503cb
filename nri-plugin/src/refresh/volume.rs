//! Opening files below the kubelet's directory.
//!
//! The kubelet's directory is the administrator's, and a link on the way to it is followed. Below it no link is: a pod's
//! directories are made by the kubelet, and what a container puts into its volumes has no say in where they are.

use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use device_attributes::Pod;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;

/// The kubelet's directory.
#[derive(Debug, Clone)]
pub(super) struct Kubelet(PathBuf);

/// Why a file or a directory of a container is not opened.
#[derive(Debug, thiserror::Error)]
pub(super) enum VolumeError {
    /// It is not where the kubelet puts such.
    #[error("{path} is not below {directory}")]
    Elsewhere {
        /// Where it is.
        path: String,
        /// Where it should be.
        directory: String,
    },
    /// The kernel does not open it.
    #[error("{path} cannot be opened: {source}")]
    Open {
        /// Where it is.
        path: String,
        /// The kernel's answer.
        source: Errno,
    },
}

impl VolumeError {
    /// Whether it is gone.
    pub(super) fn is_gone(&self) -> bool {
        matches!(
            self,
            Self::Open {
                source: Errno::NOENT,
                ..
            }
        )
    }
}

impl Kubelet {
    pub(super) fn new(directory: &Path) -> Self {
        Self(directory.to_owned())
    }

    /// The VM mount of a pod, below the pod's own directory.
    pub(super) fn volume(&self, pod: &Pod, path: &Path) -> Result<OwnedFd, VolumeError> {
        let uid = pod.uid.as_ref().map_or("", |uid| uid.as_str());
        let below = Path::new("pods").join(uid);
        self.open(&below, path, OFlags::RDONLY | OFlags::DIRECTORY)
    }

    /// A driver's metadata file.
    pub(super) fn metadata(&self, path: &Path) -> Result<OwnedFd, VolumeError> {
        self.open(
            Path::new("plugins"),
            path,
            OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY,
        )
    }

    /// The directory that a metadata file is in, as a place only.
    pub(super) fn metadata_directory(&self, path: &Path) -> Result<OwnedFd, VolumeError> {
        let directory = path.parent().unwrap_or(path);
        self.open(
            Path::new("plugins"),
            directory,
            OFlags::PATH | OFlags::DIRECTORY,
        )
    }

    fn open(&self, below: &Path, path: &Path, flags: OFlags) -> Result<OwnedFd, VolumeError> {
        let directory = self.0.join(below);
        let rest = path.strip_prefix(&directory).ok();
        let is_plain = |rest: &&Path| {
            let mut components = rest.components();
            rest.components().next().is_some()
                && components.all(|part| matches!(part, Component::Normal(_)))
        };
        let Some(rest) = rest.filter(is_plain) else {
            return Err(VolumeError::Elsewhere {
                path: path.display().to_string(),
                directory: directory.display().to_string(),
            });
        };
        let failed = |source| VolumeError::Open {
            path: path.display().to_string(),
            source,
        };
        let kubelet = openat(
            CWD,
            &self.0,
            OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .map_err(failed)?;
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        openat2(
            &kubelet,
            below.join(rest),
            flags | OFlags::CLOEXEC,
            Mode::empty(),
            resolve,
        )
        .map_err(failed)
    }
}
