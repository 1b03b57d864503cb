//! Reads the document `dra-guest/v1`.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::notes::Notes;
use super::path::{FieldPath, Members, members};
use super::source::Source;
use super::{Found, Rejected, parse};
use crate::document::{API_VERSION, KIND};
use crate::{Claim, Device, DeviceIdentity, Document, ReadError, ReadErrorKind, limits};

/// The keys beside `devices` that are derived from the only device.
const FLAT_KEYS: [&str; 3] = ["pciAddress", "macAddress", "numaNode"];

pub(super) fn read<'a>(
    source: &Source<'a>,
    object: &'a RawValue,
    members: &Members<'a>,
    notes: &mut Notes,
) -> Result<Found, ReadError> {
    let member = |key: &str| members.get(key).copied();
    let whole = |kind| source.error(object.get(), None, kind);
    let at = |key: &str, kind| source.error(member(key).unwrap_or(object).get(), None, kind);

    let text = |key: &'static str| -> Result<String, ReadError> {
        let value = member(key).ok_or_else(|| whole(ReadErrorKind::Missing(key)))?;
        parse::plain(source, value, &FieldPath::key(key))
    };
    let version = text("apiVersion")?;
    if version != API_VERSION {
        let kind = ReadErrorKind::NoKnownVersion {
            found: vec![crate::error::excerpt(&version)],
            known: &[API_VERSION],
        };
        return Err(at("apiVersion", kind));
    }
    let kind = text("kind")?;
    if kind != KIND {
        let kind = ReadErrorKind::WrongKind {
            api_version: version,
            found: crate::error::excerpt(&kind),
            expected: KIND,
        };
        return Err(at("kind", kind));
    }

    let pod = match member("pod") {
        None => None,
        Some(pod) => parse::noting(source, pod, &FieldPath::key("pod"), &[], notes)?,
    };
    let devices = member("devices").ok_or_else(|| whole(ReadErrorKind::Missing("devices")))?;
    let mut found = Found {
        document: Document {
            pod,
            devices: Vec::new(),
        },
        rejected: Vec::new(),
    };
    for (place, entry) in entries(source, devices)? {
        match device(source, entry, &place, notes) {
            Ok(device) => found.document.devices.push(device),
            Err(error) => found.rejected.push(Rejected {
                identity: identity(entry),
                error,
            }),
        }
    }
    let known = ["apiVersion", "kind", "pod", "devices"];
    for (key, value) in members {
        if !known.contains(&key.as_ref()) && !FLAT_KEYS.contains(&key.as_ref()) {
            notes.unknown_key(source, value.get(), &FieldPath::key(key));
        }
    }
    // With a device rejected it is not known what they would be derived from.
    if found.rejected.is_empty() {
        compare_flat_keys(source, members, &found.document, notes);
    }
    Ok(found)
}

/// The entries of `devices` and their paths.
pub(super) fn entries<'a>(
    source: &Source<'a>,
    devices: &'a RawValue,
) -> Result<Vec<(FieldPath, &'a RawValue)>, ReadError> {
    let path = FieldPath::key("devices");
    let Ok(entries) = serde_json::from_str::<Option<Vec<&RawValue>>>(devices.get()) else {
        let kind = ReadErrorKind::Invalid("a list of devices is expected".to_owned());
        return Err(source.error(devices.get(), path.field(), kind));
    };
    let entries = entries.unwrap_or_default();
    if entries.len() > limits::DEVICES {
        let kind = ReadErrorKind::TooManyDevices {
            count: entries.len(),
        };
        return Err(source.error(devices.get(), path.field(), kind));
    }
    let places = entries.into_iter().enumerate();
    Ok(places
        .map(|(index, entry)| (path.at(index), entry))
        .collect())
}

fn device<'a>(
    source: &Source<'a>,
    entry: &'a RawValue,
    place: &FieldPath,
    notes: &mut Notes,
) -> Result<Device, ReadError> {
    let device: Device = parse::noting(source, entry, place, &[], notes)?;
    let count = device.attributes.len();
    if count > limits::ATTRIBUTES {
        let path = FieldPath::key("attributes");
        let part = super::path::locate(entry, &path).get();
        let kind = ReadErrorKind::TooManyAttributes { count };
        return Err(source.error(part, place.join(&path).field(), kind));
    }
    Ok(device)
}

/// What can be read of the identity of an entry that is broken somewhere.
fn identity(entry: &RawValue) -> DeviceIdentity {
    let members = members(entry).unwrap_or_default();
    DeviceIdentity {
        claim: members
            .get("claim")
            .and_then(|claim| identity_of_claim(claim)),
        request: readable(&members, "request"),
        driver: readable(&members, "driver"),
        pool: readable(&members, "pool"),
        device: readable(&members, "device"),
    }
}

fn identity_of_claim(claim: &RawValue) -> Option<Claim> {
    let members = members(claim)?;
    Some(Claim {
        namespace: readable(&members, "namespace")?,
        name: readable(&members, "name")?,
        uid: readable(&members, "uid"),
        pod_claim_name: readable(&members, "podClaimName"),
        generation: readable(&members, "generation").unwrap_or_default(),
    })
}

fn readable<'a, T: Deserialize<'a>>(members: &Members<'a>, key: &str) -> Option<T> {
    serde_json::from_str(members.get(key)?.get()).ok()
}

/// Notes where the flat keys are not what they would be derived as.
///
/// They are for boot scripts; nothing reads them here.
fn compare_flat_keys(
    source: &Source<'_>,
    members: &Members<'_>,
    document: &Document,
    notes: &mut Notes,
) {
    let derived = serde_json::to_value(document.flat()).unwrap_or_default();
    for key in FLAT_KEYS {
        let Some(value) = members.get(key) else {
            continue;
        };
        let what = match (&document.devices.as_slice(), derived.get(key)) {
            ([_], Some(derived)) => {
                let given = serde_json::from_str::<serde_json::Value>(value.get());
                if given.is_ok_and(|given| given == *derived) {
                    continue;
                }
                format!("this differs from the device's own value, {derived}, and was ignored")
            }
            ([_], None) => "the device itself has no such value: this was ignored".to_owned(),
            _ => "this stands only beside exactly one device, and was ignored".to_owned(),
        };
        notes.about(source, value.get(), &FieldPath::key(key), what);
    }
}
