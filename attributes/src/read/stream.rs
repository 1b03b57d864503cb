//! Reads upstream's DeviceMetadata stream (KEP-5304).
//!
//! A file holds the same object once for each API version that the driver was told to write,
//! pretty-printed, one behind the other. The rules are those of upstream's own reader
//! (`devicemetadata.DecodeMetadataFromStream` of `k8s.io/dynamic-resource-allocation`): the first
//! object of a known version is taken; unknown versions are skipped; whatever else is wrong up to there
//! ends the reading. What follows the object that was taken is not looked at.
//!
//! Beyond that, this reader holds each device to the document's terms. A device whose names cannot
//! be used is rejected alone; a value that cannot be normalised is left out with a note.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::notes::Notes;
use super::path::{FieldPath, locate, members};
use super::source::Source;
use super::stream_device::{Context, device};
use super::{Found, parse};
use crate::{Claim, Document, Name, ReadError, ReadErrorKind, limits};

const KIND: &str = "DeviceMetadata";

/// The versions that are read, newest first; their shapes are the same.
pub(super) const VERSIONS: [&str; 2] = [
    "metadata.resource.k8s.io/v1beta1",
    "metadata.resource.k8s.io/v1alpha1",
];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DeviceMetadata<'a> {
    metadata: Option<ObjectMeta>,
    pod_claim_name: Option<String>,
    #[serde(borrow)]
    requests: Option<Vec<Request<'a>>>,
}

/// The fields of `metadata` that KEP-5304 defines.
#[derive(Deserialize, Default)]
struct ObjectMeta {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    generation: Option<i64>,
}

#[derive(Deserialize)]
struct Request<'a> {
    name: Option<String>,
    #[serde(borrow)]
    devices: Option<Vec<&'a RawValue>>,
}

pub(super) fn read<'a>(
    source: &Source<'a>,
    first: &'a RawValue,
    notes: &mut Notes,
) -> Result<Found, ReadError> {
    let mut unknown = Vec::new();
    let mut next = Some(first);
    while let Some(object) = next {
        let version = version(source, object)?;
        if VERSIONS.contains(&version.as_str()) {
            return known(source, object, notes);
        }
        let version = crate::error::excerpt(&version);
        // Bounded, so that the message is; a real stream has a handful.
        if unknown.len() < 16 && !unknown.contains(&version) {
            unknown.push(version);
        }
        next = source.value(source.end_of(object.get()))?;
    }
    Err(ReadError::file(
        source.file,
        ReadErrorKind::NoKnownVersion {
            found: unknown,
            known: &super::KNOWN_VERSIONS,
        },
    ))
}

/// The object's apiVersion; its kind must be there, and be the right one where the version is known.
fn version(source: &Source<'_>, object: &RawValue) -> Result<String, ReadError> {
    let members = members(object).ok_or_else(|| {
        let kind = ReadErrorKind::Invalid("an object is expected".to_owned());
        source.error(object.get(), None, kind)
    })?;
    let text = |key: &'static str| -> Result<String, ReadError> {
        let missing = || source.error(object.get(), None, ReadErrorKind::Missing(key));
        let value = members.get(key).ok_or_else(missing)?;
        let text: Option<String> = parse::plain(source, value, &FieldPath::key(key))?;
        text.filter(|text| !text.is_empty()).ok_or_else(missing)
    };
    let version = text("apiVersion")?;
    let kind = text("kind")?;
    if VERSIONS.contains(&version.as_str()) && kind != KIND {
        let kind = ReadErrorKind::WrongKind {
            api_version: version,
            found: crate::error::excerpt(&kind),
            expected: KIND,
        };
        let part = locate(object, &FieldPath::key("kind")).get();
        return Err(source.error(part, None, kind));
    }
    Ok(version)
}

fn known<'a>(
    source: &Source<'a>,
    object: &'a RawValue,
    notes: &mut Notes,
) -> Result<Found, ReadError> {
    // The API machinery of upstream writes a creationTimestamp of null into every object.
    let silent = ["apiVersion", "kind", "metadata.creationTimestamp"];
    let root = FieldPath::default();
    let metadata: DeviceMetadata<'a> = parse::noting(source, object, &root, &silent, notes)?;
    let claim = claim(source, object, &metadata, notes)?;
    let mut found = Found {
        document: Document::default(),
        rejected: Vec::new(),
    };
    let requests = metadata.requests.unwrap_or_default();
    let count = requests
        .iter()
        .map(|request| request.devices.as_ref().map_or(0, Vec::len))
        .sum();
    if count > limits::DEVICES {
        let kind = ReadErrorKind::TooManyDevices { count };
        return Err(source.error(object.get(), Some("requests".to_owned()), kind));
    }
    for (index, request) in requests.into_iter().enumerate() {
        let place = FieldPath::key("requests").at(index);
        let context = Context {
            source,
            claim: claim.as_ref(),
            request: request.name.as_deref(),
        };
        let devices = request.devices.unwrap_or_default();
        for (index, entry) in devices.into_iter().enumerate() {
            let place = place.and("devices").at(index);
            match device(&context, entry, &place, notes)? {
                Ok(device) => found.document.devices.push(device),
                Err(rejected) => found.rejected.push(rejected),
            }
        }
    }
    Ok(found)
}

/// The claim that the object is about. Without a name and a namespace it is none that can be
/// found again; a name that no claim can have makes the whole object untrustworthy.
fn claim(
    source: &Source<'_>,
    object: &RawValue,
    metadata: &DeviceMetadata<'_>,
    notes: &mut Notes,
) -> Result<Option<Claim>, ReadError> {
    let none = ObjectMeta::default();
    let meta = metadata.metadata.as_ref().unwrap_or(&none);
    let place = FieldPath::key("metadata");
    let name = |text: &Option<String>, path: FieldPath| -> Result<Option<Name>, ReadError> {
        let Some(text) = text.as_deref().filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        text.parse().map(Some).map_err(|error: crate::NameError| {
            let part = locate(object, &path).get();
            let kind = ReadErrorKind::Invalid(error.to_string());
            source.error(part, path.field(), kind)
        })
    };
    let namespace = name(&meta.namespace, place.and("namespace"))?;
    let uid = name(&meta.uid, place.and("uid"))?;
    let pod_claim_name = name(&metadata.pod_claim_name, FieldPath::key("podClaimName"))?;
    let (Some(namespace), Some(name)) = (namespace, name(&meta.name, place.and("name"))?) else {
        let what = "the claim's name and namespace are not both given: the claim is not known";
        let part = locate(object, &place).get();
        notes.about(source, part, &place, what.to_owned());
        return Ok(None);
    };
    Ok(Some(Claim {
        namespace,
        name,
        uid,
        pod_claim_name,
        generation: meta.generation.unwrap_or_default(),
    }))
}
