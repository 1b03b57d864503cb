//! From a claim and the slices that are known to devices of the document.

use super::objects::{AllocationResult, DeviceStatus, ResourceClaim};
use super::slices::{Lookup, Slices};
use crate::read::Rejected;
use crate::read::described::{Attributes, Described, describe};
use crate::read::notes::Notes;
use crate::read::path::{FieldPath, Segment};
use crate::{
    Device, DeviceIdentity, Guest, Name, NameError, ReadError, ReadErrorKind, limits, one_line,
};

/// The devices of one claim.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allocated {
    /// Those that can be used, sorted. Two shares of one device stand there twice when they differ.
    pub devices: Vec<Device>,
    /// Results whose names cannot be used, and devices with more attributes than the API allows.
    pub rejected: Vec<Rejected>,
    /// What was left out, and what is not known: a sentence each, in bounded number.
    pub notes: Vec<String>,
}

/// Makes the devices of a claim: who they are from its allocation, their network from `status.devices`, their
/// attributes from the newest generation of their pool. A device that no slice describes has its names and
/// its network.
///
/// A device that is given for administration only (`adminAccess`) is left out: another pod may have it.
///
/// # Errors
/// When nothing is allocated, or there is more than [`limits::DEVICES`].
pub fn devices(claim: &ResourceClaim, slices: &Slices) -> Result<Allocated, ReadError> {
    devices_where(claim, slices, |_| true)
}

/// Does the same for the results that are `wanted`, where others are known from elsewhere.
///
/// # Errors
/// See [`devices`].
pub fn devices_where(
    claim: &ResourceClaim,
    slices: &Slices,
    wanted: impl Fn(&AllocationResult) -> bool,
) -> Result<Allocated, ReadError> {
    let subject = format!(
        "ResourceClaim {}/{}",
        claim.claim.namespace, claim.claim.name
    );
    let place = FieldPath::key("status").and("allocation");
    let error = |kind| ReadError {
        field: place.field(),
        ..ReadError::file(&subject, kind)
    };
    let results = claim
        .status
        .results()
        .ok_or_else(|| error(ReadErrorKind::NotAllocated))?;
    if results.len() > limits::DEVICES {
        return Err(error(ReadErrorKind::TooManyDevices {
            count: results.len(),
        }));
    }
    let mut joining = Joining {
        claim,
        slices,
        subject: &subject,
        notes: Notes::new(&subject),
    };
    let mut allocated = Allocated::default();
    let all = results.iter().enumerate();
    for (index, result) in all.filter(|(_, result)| wanted(result)) {
        let place = place.and("devices").and("results").at(index);
        match joining.device(result, &place) {
            None => {}
            // Shares of which nothing differs are one to the guest.
            Some(Ok(device)) if allocated.devices.contains(&device) => {}
            Some(Ok(device)) => allocated.devices.push(device),
            Some(Err(rejected)) => allocated.rejected.push(rejected),
        }
    }
    allocated.devices.sort();
    allocated.notes = joining.notes.finish();
    Ok(allocated)
}

/// What all devices of one claim have in common.
struct Joining<'j> {
    claim: &'j ResourceClaim,
    slices: &'j Slices,
    subject: &'j str,
    notes: Notes,
}

impl Joining<'_> {
    /// One device; none for a result that is not for the guest.
    fn device(
        &mut self,
        result: &AllocationResult,
        place: &FieldPath,
    ) -> Option<Result<Device, Rejected>> {
        let mut identity = DeviceIdentity {
            claim: Some(self.claim.claim.clone()),
            ..DeviceIdentity::default()
        };
        if let Err((path, kind)) = name_it(result, place, &mut identity) {
            let error = self.error(&path, kind);
            return Some(Err(Rejected { identity, error }));
        }
        if result.admin_access == Some(true) {
            let what = format!(
                "{identity}: left out: it is given for administration only, another pod may have it"
            );
            self.note(&place.and("adminAccess"), &what);
            return None;
        }
        let attributes = self.attributes(result, place, &identity);
        if attributes.len() > limits::ATTRIBUTES {
            let count = attributes.len();
            let error = self.error(place, ReadErrorKind::TooManyAttributes { count });
            return Some(Err(Rejected { identity, error }));
        }
        let (at, status) = self.status(result);
        let network = status.and_then(|status| status.network_data.clone());
        let status = FieldPath::key("status").and("devices").at(at);
        let Described {
            host,
            network,
            attributes,
        } = describe(
            &result.driver,
            attributes,
            network.unwrap_or_default(),
            &mut |path, what| {
                // Where a slice has an attribute is of no use to whoever looks at the claim.
                let in_slice = path.0.first() == Some(&Segment::Key("attributes".to_owned()));
                let (field, what) = if in_slice {
                    (
                        place.clone(),
                        format!("{identity}: {path} of its ResourceSlice: {what}"),
                    )
                } else {
                    (status.join(path), format!("{identity}: {what}"))
                };
                self.note(&field, &what);
            },
        );
        Some(Ok(Device {
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

    /// The attributes that the newest slices have of a device.
    fn attributes(
        &mut self,
        result: &AllocationResult,
        place: &FieldPath,
        identity: &DeviceIdentity,
    ) -> Attributes {
        let pool = format!("pool {} of {}", result.pool, result.driver);
        let what = match self.slices.find(result) {
            Lookup::Found(attributes) => return attributes.clone(),
            Lookup::NoPool => format!("no ResourceSlice of the {pool} is known"),
            Lookup::NotInPool { generation, slices } => {
                let (known, all) = slices;
                format!(
                    "the {pool} does not have it in generation {generation}, of which {known} of {all} ResourceSlices are known"
                )
            }
        };
        self.note(
            place,
            &format!("{identity}: its attributes are not known: {what}"),
        );
        Attributes::new()
    }

    /// What the driver says of the device, and where that stands.
    fn status(&self, result: &AllocationResult) -> (usize, Option<&DeviceStatus>) {
        let all = self.claim.status.devices.as_deref().unwrap_or_default();
        let found = all
            .iter()
            .enumerate()
            .find(|(_, status)| result.is_described_by(status));
        found.map_or((0, None), |(index, status)| (index, Some(status)))
    }

    fn note(&mut self, path: &FieldPath, what: &str) {
        let note = self.error(path, ReadErrorKind::Invalid(one_line(what, 1024)));
        self.notes.add(note.to_string());
    }

    fn error(&self, path: &FieldPath, kind: ReadErrorKind) -> ReadError {
        ReadError {
            field: path.field(),
            ..ReadError::file(self.subject, kind)
        }
    }
}

/// Reads the names of a result; the first that cannot be used is an error, those before it are kept.
fn name_it(
    result: &AllocationResult,
    place: &FieldPath,
    identity: &mut DeviceIdentity,
) -> Result<(), (FieldPath, ReadErrorKind)> {
    let name = |key: &'static str, text: &str| -> Result<Option<Name>, _> {
        if text.is_empty() {
            return Err((place.clone(), ReadErrorKind::Missing(key)));
        }
        text.parse()
            .map(Some)
            .map_err(|error: NameError| (place.and(key), ReadErrorKind::Invalid(error.to_string())))
    };
    identity.request = name("request", &result.request)?;
    identity.driver = name("driver", &result.driver)?;
    identity.pool = name("pool", &result.pool)?;
    identity.device = name("device", &result.device)?;
    Ok(())
}
