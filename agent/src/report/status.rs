//! `/run/dra-guest/status.json`: what the agent last saw, for probes and people.

use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;

use device_attributes::report::DeviceReport;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::DeviceStatus;
use super::device_files::{self, Unwritten};
use crate::listing::listing;
use crate::roots::Roots;
use crate::{small_file, state_directory};

/// The file in the agent's directory.
const FILE: &str = "status.json";

/// The most bytes of it that are read: thrice what a thousand devices with all their routes have.
const BYTES: usize = 16 << 20;

/// What the agent last saw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// [`device_attributes::document::API_VERSION`].
    pub api_version: String,
    /// `Status`.
    pub kind: String,
    /// The agent's version.
    pub agent_version: String,
    /// Whether every device can be used that the policy does not call optional. False as long as there
    /// are no attributes.
    pub ready: bool,
    /// Where the attributes came from, or those of before while there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<PathBuf>,
    /// `sha256:` and the hexadecimal digest of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document_digest: Option<String>,
    /// Why there are no attributes, or why they cannot be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Every device, as observed.
    pub devices: Vec<DeviceStatus>,
}

/// Why the status file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StatusError {
    /// It cannot be written.
    #[error("cannot write {}: {error}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The operating system's answer.
        error: io::Error,
    },
    /// It is there and cannot be read.
    #[error("cannot read {}: {error}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's answer.
        error: io::Error,
    },
    /// It is not what an agent writes.
    #[error("{}: {error}: it was not written by this agent; its next pass replaces it", .path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The parser's words, with line and column.
        error: serde_json::Error,
    },
}

impl Status {
    /// A status without attributes.
    pub fn without_attributes(problem: String) -> Self {
        Self {
            api_version: device_attributes::document::API_VERSION.to_owned(),
            kind: "Status".to_owned(),
            agent_version: env!("CARGO_PKG_VERSION").to_owned(),
            ready: false,
            source: None,
            document_digest: None,
            problem: Some(problem),
            devices: Vec::new(),
        }
    }

    /// A status with attributes.
    pub fn of_devices(
        source: PathBuf,
        document_digest: String,
        devices: Vec<DeviceStatus>,
        ready: bool,
    ) -> Self {
        Self {
            ready,
            source: Some(source),
            document_digest: Some(document_digest),
            problem: None,
            devices,
            ..Self::without_attributes(String::new())
        }
    }

    /// What the relay is told of each device.
    pub fn reports(&self) -> Vec<DeviceReport> {
        let devices = self.devices.iter();
        devices.map(|device| device.report.clone()).collect()
    }

    /// The file's path.
    pub fn path(roots: &Roots) -> PathBuf {
        state_directory::path(roots).join(FILE)
    }

    /// Writes the file whole, mode 0644, after those of the single devices; the same content is left
    /// as it is.
    ///
    /// # Errors
    /// When the file system refuses. The file that was there is gone then, if that can be had: a
    /// probe must not take it for what holds now.
    pub fn write(&self, roots: &Roots) -> Result<(), StatusError> {
        let path = Self::path(roots);
        // Every map of the status has string keys, and memory takes all bytes.
        let mut bytes = serde_json::to_vec_pretty(self).unwrap_or_default();
        bytes.push(b'\n');
        // The devices' files were written before it. What a workload is bound to is in them alone.
        if small_file::holds(&path, &bytes) && device_files::hold_bounds(roots, &self.devices) {
            return Ok(());
        }
        let devices = device_files::write(roots, &self.devices);
        let written = state_directory::put(&path, &bytes).map_err(|error| Unwritten {
            path: path.clone(),
            error,
        });
        devices.and(written).map_err(
            |Unwritten {
                 path: unwritten,
                 error,
             }| {
                // The error that counts is the first.
                let _ = fs::remove_file(&path);
                let path = unwritten;
                StatusError::Write { path, error }
            },
        )
    }

    /// Removes the file and those of the single devices, none of which need be there.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn remove(roots: &Roots) -> Result<(), StatusError> {
        let path = Self::path(roots);
        let removed = state_directory::remove(&path).map_err(|error| Unwritten { path, error });
        let devices = device_files::write(roots, &[]);
        let error = |Unwritten { path, error }| StatusError::Write { path, error };
        removed.and(devices).map_err(error)
    }

    /// Reads the file; `None` when there is none.
    ///
    /// # Errors
    /// When it is there and cannot be read or understood.
    pub fn read(roots: &Roots) -> Result<Option<Self>, StatusError> {
        Self::read_as(roots)
    }

    /// Reads as much of the file as a type has.
    ///
    /// # Errors
    /// When it is there and cannot be read or understood.
    pub fn read_as<T: DeserializeOwned>(roots: &Roots) -> Result<Option<T>, StatusError> {
        let path = Self::path(roots);
        let bytes = match small_file::read_larger(&path, BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StatusError::Read { path, error }),
        };
        match serde_json::from_slice(&bytes) {
            Ok(status) => Ok(Some(status)),
            Err(error) => Err(StatusError::Invalid { path, error }),
        }
    }
}

impl fmt::Display for Status {
    /// For people: a line for the whole, then a line for each device.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ready = self.devices.iter().filter(|it| it.report.ready).count();
        match (&self.problem, self.devices.len()) {
            (Some(problem), 0) => write!(f, "not ready: {problem}")?,
            (Some(problem), all) => write!(f, "{ready} of {all} devices ready, but {problem}")?,
            (None, 0) => f.write_str("ready: the attributes name no device")?,
            (None, all) => write!(f, "{ready} of {all} devices ready")?,
        }
        for device in &self.devices {
            let routing = device.routes.iter().map(ToString::to_string);
            let routing = routing.chain(device.rules.iter().map(ToString::to_string));
            let (routing, mtu) = (listing(routing), device.mtu);
            let pinning = device.pinning.as_ref();
            let device = &device.report;
            write!(f, "\n  {}: {}", device.identity, device.reason)?;
            if let Some(name) = &device.interface_name {
                write!(f, ", {name}")?;
            }
            if let Some(mac) = device.mac_address {
                write!(f, " {mac}")?;
            }
            if let Some(address) = device.guest_pci_address {
                write!(f, " at {address}")?;
            }
            if let Some(node) = device.numa_node {
                write!(f, " on NUMA node {node}")?;
            }
            if let Some(mtu) = mtu {
                write!(f, ", MTU {mtu}")?;
            }
            for address in &device.addresses {
                write!(f, ", {address}")?;
            }
            if !routing.is_empty() {
                write!(f, ", {routing}")?;
            }
            if let Some(pinning) = pinning {
                write!(f, ", {pinning}")?;
            }
            if !device.message.is_empty() {
                write!(f, ": {}", device.message)?;
            }
        }
        Ok(())
    }
}
