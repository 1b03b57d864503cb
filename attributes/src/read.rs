//! Readers: bytes of any known form to a [`Document`].

use crate::{DeviceIdentity, Document, ReadError};

/// The form that an input was found to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `dra-guest/v1` DeviceAttributes.
    Document,
    /// Upstream's DeviceMetadata stream.
    Stream,
    /// `devices` of a KubeVirt config drive's `meta_data.json`.
    ConfigDrive,
    /// A flat object with `pciAddress`, `macAddress`, `numaNode`.
    Flat,
}

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The devices that can be used.
    pub document: Document,
    /// The form of the input.
    pub form: Form,
    /// Devices whose entry is broken; the others are in `document` all the same.
    pub rejected: Vec<Rejected>,
    /// What was passed over: unknown keys, values that no standard key of the document can hold.
    /// A sentence each, with the place.
    pub notes: Vec<String>,
}

/// A device whose entry cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// As far as it could be read.
    pub identity: DeviceIdentity,
    /// What is wrong.
    pub error: ReadError,
}

/// Reads one file's bytes, telling the form by the content.
///
/// `file` is the name for messages.
///
/// # Errors
/// When the file as a whole cannot be used. A single broken device is in [`Reading::rejected`].
pub fn read(file: &str, bytes: &[u8]) -> Result<Reading, ReadError> {
    let _ = (file, bytes);
    Err(ReadError::file(file, crate::ReadErrorKind::UnknownForm))
}
