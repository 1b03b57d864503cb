//! Reads objects of the API from bytes.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::POD_CLAIM_NAME;
use super::objects::{ClaimStatus, ResourceClaim, ResourceSlice, SliceSpec};
use crate::read::parse;
use crate::read::path::{FieldPath, locate};
use crate::read::source::Source;
use crate::{Claim, Name, ReadError, ReadErrorKind};

/// The versions whose claims and slices have the shape that is read.
const VERSIONS: [&str; 2] = ["resource.k8s.io/v1", "resource.k8s.io/v1beta2"];

#[derive(Deserialize, Default)]
struct ObjectMeta {
    namespace: Option<String>,
    name: Option<String>,
    uid: Option<String>,
    annotations: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Kind {
    api_version: Option<String>,
    kind: Option<String>,
}

#[derive(Deserialize)]
struct ClaimObject {
    metadata: Option<ObjectMeta>,
    status: Option<ClaimStatus>,
}

#[derive(Deserialize)]
struct SliceObject {
    metadata: Option<ObjectMeta>,
    spec: Option<SliceSpec>,
}

#[derive(Deserialize)]
struct List<'a> {
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

/// Reads one ResourceClaim. Keys that are not known are passed over: the object has many that say
/// nothing of its devices.
///
/// `file` is the name for messages.
///
/// # Errors
/// When the bytes are no ResourceClaim of a known version, or it has no name and namespace.
pub fn read_claim(file: &str, bytes: &[u8]) -> Result<ResourceClaim, ReadError> {
    let source = Source::new(file, bytes)?;
    let object = only(&source)?;
    kind(&source, object, &FieldPath::default(), "ResourceClaim")?;
    let parsed: ClaimObject = parse::plain(&source, object, &FieldPath::default())?;
    let metadata = parsed.metadata.unwrap_or_default();
    let mut annotations = metadata.annotations.unwrap_or_default();
    let name = |path: FieldPath, text: Option<String>| name(&source, object, &path, text);
    let place = FieldPath::key("metadata");
    let required = |key: &'static str, text: Option<String>| {
        let missing = || {
            let part = locate(object, &place).get();
            source.error(part, place.field(), ReadErrorKind::Missing(key))
        };
        name(place.and(key), text)?.ok_or_else(missing)
    };
    Ok(ResourceClaim {
        claim: Claim {
            namespace: required("namespace", metadata.namespace)?,
            name: required("name", metadata.name)?,
            uid: name(place.and("uid"), metadata.uid)?,
            pod_claim_name: name(
                place.and("annotations").and(POD_CLAIM_NAME),
                annotations.remove(POD_CLAIM_NAME),
            )?,
            generation: 0,
        },
        status: parsed.status.unwrap_or_default(),
    })
}

/// Reads `ResourceSlice`s: one, or a list of them.
///
/// `file` is the name for messages.
///
/// # Errors
/// When the bytes are no `ResourceSlice` of a known version and no list of such.
pub fn read_slices(file: &str, bytes: &[u8]) -> Result<Vec<ResourceSlice>, ReadError> {
    let source = Source::new(file, bytes)?;
    let object = only(&source)?;
    let root = FieldPath::default();
    let named: Kind = parse::plain(&source, object, &root)?;
    if !named.kind.is_some_and(|kind| kind.ends_with("List")) {
        return Ok(vec![slice(&source, object, &root)?]);
    }
    let list: List<'_> = parse::plain(&source, object, &root)?;
    let items = list.items.unwrap_or_default().into_iter().enumerate();
    items
        .map(|(index, item)| slice(&source, item, &FieldPath::key("items").at(index)))
        .collect()
}

fn slice(
    source: &Source<'_>,
    object: &RawValue,
    place: &FieldPath,
) -> Result<ResourceSlice, ReadError> {
    kind(source, object, place, "ResourceSlice")?;
    let parsed: SliceObject = parse::plain(source, object, place)?;
    let name = parsed.metadata.and_then(|metadata| metadata.name);
    let missing = || {
        let place = place.and("metadata");
        source.error(object.get(), place.field(), ReadErrorKind::Missing("name"))
    };
    Ok(ResourceSlice {
        name: name.filter(|name| !name.is_empty()).ok_or_else(missing)?,
        spec: parsed.spec.unwrap_or_default(),
    })
}

/// The one value of the file.
fn only<'a>(source: &Source<'a>) -> Result<&'a RawValue, ReadError> {
    let empty = || ReadError::file(source.file, ReadErrorKind::Empty);
    let object = source.value(0)?.ok_or_else(empty)?;
    source.nothing_after(object)?;
    Ok(object)
}

/// Refuses an object of another kind or version. Those of a list that `kubectl` printed name both, those of
/// a list of the API server neither.
fn kind(
    source: &Source<'_>,
    object: &RawValue,
    place: &FieldPath,
    expected: &'static str,
) -> Result<(), ReadError> {
    let found: Kind = parse::plain(source, object, place)?;
    let in_list = !place.0.is_empty();
    let api_version = match found.api_version {
        Some(version) if VERSIONS.contains(&version.as_str()) => version,
        None if in_list => VERSIONS.first().copied().unwrap_or_default().to_owned(),
        Some(version) => {
            let kind = ReadErrorKind::NoKnownVersion {
                found: vec![crate::error::excerpt(&version)],
                known: &VERSIONS,
            };
            let part = locate(object, &FieldPath::key("apiVersion")).get();
            return Err(source.error(part, place.and("apiVersion").field(), kind));
        }
        None => {
            let kind = ReadErrorKind::Missing("apiVersion");
            return Err(source.error(object.get(), place.field(), kind));
        }
    };
    match found.kind {
        Some(kind) if kind == expected => Ok(()),
        None if in_list => Ok(()),
        other => {
            let kind = ReadErrorKind::WrongKind {
                api_version,
                found: crate::error::excerpt(&other.unwrap_or_default()),
                expected,
            };
            let part = locate(object, &FieldPath::key("kind")).get();
            Err(source.error(part, place.and("kind").field(), kind))
        }
    }
}

/// A name that stands at `path`; none where it is empty.
fn name(
    source: &Source<'_>,
    object: &RawValue,
    path: &FieldPath,
    text: Option<String>,
) -> Result<Option<Name>, ReadError> {
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    text.parse().map(Some).map_err(|error: crate::NameError| {
        let kind = ReadErrorKind::Invalid(error.to_string());
        source.error(locate(object, path).get(), path.field(), kind)
    })
}
