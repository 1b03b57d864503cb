//! The pure step from what is known of a pod to the value of its annotation.

use std::collections::{BTreeMap, BTreeSet};

use device_attributes::read::claim::devices_where;
use device_attributes::{Device, Document, Pod as DocumentPod};

use super::ANNOTATION;
use super::files::Found;
use super::heard::{Known, Pod};
use crate::store::ClaimName;

/// The most bytes of all annotations of an object, keys and values (`TotalAnnotationSizeLimitB` of Kubernetes).
pub const ANNOTATIONS: usize = 256 << 10;

/// What there is to say of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// The value that its annotation is to have.
    pub value: Result<String, Without>,
    /// What could not be used or is not known, a sentence each.
    pub complaints: Vec<String>,
}

/// Why there is no value: the annotation stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Without {
    /// Something is not known yet.
    #[error("{0}")]
    NotYet(String),
    /// It does not fit.
    #[error(
        "the document has {document} bytes, and the pod's other annotations have {others}: {ANNOTATION} is not written, because \
         all annotations of an object may have {limit} bytes together", limit = ANNOTATIONS
    )]
    TooLarge {
        /// The bytes of the document.
        document: usize,
        /// The bytes of all other annotations.
        others: usize,
    },
}

/// Makes the value of a pod's annotation.
pub fn make(pod: &Pod, known: &Known, files: &BTreeMap<ClaimName, Found>) -> Made {
    let mut complaints = Vec::new();
    let value = document(pod, known, files, &mut complaints)
        .map_err(Without::NotYet)
        .and_then(|document| {
            // The bytes are JSON text.
            let text = String::from_utf8(document.to_bytes()).unwrap_or_default();
            if ANNOTATION.len() + text.len() + pod.others > ANNOTATIONS {
                return Err(Without::TooLarge {
                    document: text.len(),
                    others: pod.others,
                });
            }
            Ok(text)
        });
    Made { value, complaints }
}

/// Makes a pod's document, or says what is not known yet.
///
/// A request that its driver has written metadata files for is what these say; for every other one the claim
/// and the node's slices are asked. What cannot be used is told in `complaints`.
///
/// # Errors
/// A sentence: a claim or the slices are not known yet.
pub fn document(
    pod: &Pod,
    known: &Known,
    files: &BTreeMap<ClaimName, Found>,
    complaints: &mut Vec<String>,
) -> Result<Document, String> {
    let mut all = Vec::new();
    for name in &pod.claims {
        all.extend(claim(name, known, files.get(name), complaints)?);
    }
    Ok(Document {
        pod: Some(DocumentPod {
            namespace: pod.namespace.clone(),
            name: pod.name.clone(),
            uid: Some(pod.uid.clone()),
        }),
        devices: all,
    })
}

/// The devices of one claim, or why they are not known yet.
fn claim(
    name: &ClaimName,
    known: &Known,
    files: Option<&Found>,
    complaints: &mut Vec<String>,
) -> Result<Vec<Device>, String> {
    let Some(claim) = known.claims.get(name) else {
        return Err(format!("ResourceClaim {name}: not known yet"));
    };
    let nothing = Found::default();
    let files = files.unwrap_or(&nothing);
    if files.unfinished {
        return Err(files.complaints.join("; "));
    }
    complaints.extend(files.complaints.iter().cloned());
    let in_files: BTreeSet<Request<'_>> = files
        .devices
        .iter()
        .filter_map(|device| {
            let (driver, request) = (device.driver.as_ref()?, device.request.as_ref()?);
            Some((driver.as_str(), base(request.as_str())))
        })
        .collect();
    let allocated = devices_where(claim, &known.slices, |result| {
        !in_files.contains(&(result.driver.as_str(), base(&result.request)))
    })
    .map_err(|error| error.to_string())?;
    if !allocated.devices.is_empty() && !known.slices_listed {
        return Err(format!(
            "ResourceClaim {name}: the node's ResourceSlices are not known yet"
        ));
    }
    complaints.extend(allocated.notes);
    let rejected = allocated.rejected.iter();
    complaints.extend(rejected.map(|rejected| rejected.error.to_string()));
    let mut all = files.devices.clone();
    all.extend(allocated.devices);
    Ok(all)
}

/// What one metadata file is about: a driver's devices of one request, without its subrequest.
type Request<'a> = (&'a str, &'a str);

fn base(request: &str) -> &str {
    request.split_once('/').map_or(request, |(base, _)| base)
}

#[cfg(test)]
mod tests;
