//! One device of upstream's DeviceMetadata, brought into the document's terms.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::described::{Attributes, Described, NetworkData, describe};
use super::notes::Notes;
use super::path::{FieldPath, locate};
use super::source::Source;
use super::{Rejected, parse};
use crate::{Claim, Device, DeviceIdentity, Guest, Name, ReadError, ReadErrorKind, limits};

/// What all devices of one request have in common.
pub(super) struct Context<'c, 'a> {
    pub(super) source: &'c Source<'a>,
    pub(super) claim: Option<&'c Claim>,
    pub(super) request: Option<&'c str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    driver: Option<String>,
    pool: Option<String>,
    name: Option<String>,
    attributes: Option<Attributes>,
    network_data: Option<NetworkData>,
}

/// Reads one device.
///
/// The outer error ends the reading, as in upstream's reader: the entry does not have the API's
/// shape. The inner one is about this device only: it has names that nothing can have.
pub(super) fn device<'a>(
    context: &Context<'_, 'a>,
    entry: &'a RawValue,
    place: &FieldPath,
    notes: &mut Notes,
) -> Result<Result<Device, Rejected>, ReadError> {
    let source = context.source;
    let parsed: Entry = parse::noting(source, entry, place, &[], notes)?;
    let mut identity = DeviceIdentity {
        claim: context.claim.cloned(),
        request: context.request.and_then(|name| name.parse().ok()),
        driver: readable(parsed.driver.as_deref()),
        pool: readable(parsed.pool.as_deref()),
        device: readable(parsed.name.as_deref()),
    };
    let names = [
        ("request", context.request, identity.request.is_some()),
        (
            "driver",
            parsed.driver.as_deref(),
            identity.driver.is_some(),
        ),
        ("pool", parsed.pool.as_deref(), identity.pool.is_some()),
        ("name", parsed.name.as_deref(), identity.device.is_some()),
    ];
    for (key, text, fits) in names {
        if fits {
            continue;
        }
        let kind = match text {
            None | Some("") => ReadErrorKind::Missing(key),
            Some(text) => match text.parse::<Name>() {
                Ok(_) => continue,
                Err(error) => ReadErrorKind::Invalid(error.to_string()),
            },
        };
        let path = FieldPath::key(key);
        let error = source.error(locate(entry, &path).get(), place.join(&path).field(), kind);
        return Ok(Err(Rejected { identity, error }));
    }
    let attributes = parsed.attributes.unwrap_or_default();
    if attributes.len() > limits::ATTRIBUTES {
        let path = FieldPath::key("attributes");
        let kind = ReadErrorKind::TooManyAttributes {
            count: attributes.len(),
        };
        let error = source.error(locate(entry, &path).get(), place.join(&path).field(), kind);
        return Ok(Err(Rejected { identity, error }));
    }
    let shown = identity.to_string();
    let driver = parsed.driver.unwrap_or_default();
    let Described {
        host,
        network,
        attributes,
    } = describe(
        &driver,
        attributes,
        parsed.network_data.unwrap_or_default(),
        &mut |path, what| {
            // Finding the place is what costs.
            if notes.is_full() {
                notes.skip(1);
                return;
            }
            let part = locate(entry, path).get();
            let what = format!("{shown}: {what}");
            notes.about(source, part, &place.join(path), what);
        },
    );
    Ok(Ok(Device {
        claim: identity.claim.take(),
        request: identity.request.take(),
        driver: identity.driver.take(),
        pool: identity.pool.take(),
        device: identity.device.take(),
        host,
        guest: Guest::default(),
        network,
        attributes,
    }))
}

fn readable(text: Option<&str>) -> Option<Name> {
    text?.parse().ok()
}
