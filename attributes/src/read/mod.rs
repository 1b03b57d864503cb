//! Readers: bytes of any known form to a [`Document`].
//!
//! | form | told by |
//! |---|---|
//! | the document, [`crate::document::API_VERSION`] | its `apiVersion` |
//! | upstream's DeviceMetadata stream (KEP-5304) | any other `apiVersion`, or a `kind` |
//! | a KubeVirt config drive's `meta_data.json` | `devices`, or the keys that every such file has |
//! | the flat form of one device | `pciAddress`, `macAddress` or `numaNode` |
//!
//! Every input is held to [`crate::limits`] before it is parsed into anything: size, nesting, keys, no key
//! twice in one object. A byte-order mark is skipped. Keys that are not known are passed over and
//! named in [`Reading::notes`].

mod check;
pub mod claim;
mod config_drive;
mod described;
mod document;
pub mod file;
mod flat;
mod merge;
mod notes;
mod parse;
mod path;
mod place;
mod source;
mod stream;
mod stream_device;
pub mod tree;
mod volume;

use serde_json::value::RawValue;

use crate::{DeviceIdentity, Document, ReadError, ReadErrorKind};
pub use merge::merge;
use notes::Notes;
use path::{FieldPath, Members};
use source::Source;

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
    /// The devices that can be used, sorted.
    pub document: Document,
    /// The form of the input.
    pub form: Form,
    /// Devices whose entry is broken; the others are in `document` all the same.
    pub rejected: Vec<Rejected>,
    /// What was passed over: unknown keys, values that no standard key of the document can hold.
    /// A sentence each, with the place; at most [`crate::limits::NOTES`] and one that counts the rest.
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

/// Every `apiVersion` that is read, for messages.
const KNOWN_VERSIONS: [&str; 3] = [
    crate::document::API_VERSION,
    stream::VERSIONS[0],
    stream::VERSIONS[1],
];

/// What a reader of one form hands back.
struct Found {
    document: Document,
    rejected: Vec<Rejected>,
}

/// Reads one file's bytes, telling the form by the content.
///
/// `file` is the name for messages.
///
/// # Errors
/// When the file as a whole cannot be used. A single broken device is in [`Reading::rejected`].
pub fn read(file: &str, bytes: &[u8]) -> Result<Reading, ReadError> {
    let source = Source::new(file, bytes)?;
    let first = source
        .value(0)?
        .ok_or_else(|| ReadError::file(file, ReadErrorKind::Empty))?;
    let members = path::members(first);
    let members = members.ok_or_else(|| unknown(&source, first))?;
    let form = form(&source, first, &members)?;
    let mut notes = Notes::new(file);
    let found = match form {
        Form::Document => document::read(&source, first, &members, &mut notes),
        Form::Stream => stream::read(&source, first, &mut notes),
        Form::ConfigDrive => config_drive::read(&source, first, &mut notes),
        Form::Flat => flat::read(&source, first, &mut notes),
    }?;
    if form != Form::Stream {
        source.nothing_after(first)?;
    }
    let Found {
        mut document,
        rejected,
    } = found;
    document.sort();
    Ok(Reading {
        document,
        form,
        rejected,
        notes: notes.finish(),
    })
}

/// Tells the form by the keys of the first value.
fn form<'a>(
    source: &Source<'a>,
    first: &'a RawValue,
    members: &Members<'a>,
) -> Result<Form, ReadError> {
    let has = |keys: &[&str]| keys.iter().any(|key| members.contains_key(*key));

    if let Some(version) = members.get("apiVersion") {
        let version: Option<String> = parse::plain(source, version, &FieldPath::key("apiVersion"))?;
        let group = version
            .as_deref()
            .and_then(|version| version.split('/').next());
        return Ok(if group == crate::document::API_VERSION.split('/').next() {
            Form::Document
        } else {
            Form::Stream
        });
    }
    // A `kind` or a `metadata` is an object of the Kubernetes API that lacks its apiVersion.
    if has(&["kind", "metadata", "requests"]) {
        return Ok(Form::Stream);
    }
    if has(&["devices", "instance_id"]) || (has(&["uuid"]) && has(&["hostname"])) {
        return Ok(Form::ConfigDrive);
    }
    if has(&["pciAddress", "macAddress", "numaNode"]) {
        return Ok(Form::Flat);
    }
    Err(unknown(source, first))
}

fn unknown(source: &Source<'_>, first: &RawValue) -> ReadError {
    source.error(first.get(), None, ReadErrorKind::UnknownForm)
}
