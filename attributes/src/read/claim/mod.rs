//! What the API server has of the devices of a claim, for drivers that write no metadata files: the
//! ResourceClaim's allocation and status, and the attributes in `ResourceSlice`s (`resource.k8s.io/v1`).
//!
//! [`read_claim`] and [`read_slices`] take the bytes of objects, as `kubectl get -o json` prints them; a program
//! that watches an API server deserialises [`ClaimStatus`] and [`SliceSpec`] from what it hears. [`Slices`]
//! keeps the slices that are known, and [`devices`] puts both together:
//!
//! ```
//! use device_attributes::Document;
//! use device_attributes::read::claim::{Slices, devices, read_claim, read_slices};
//!
//! # let claim = br#"{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"namespace":"default","name":"nic"},
//! # "status":{"allocation":{"devices":{"results":[{"request":"vf","driver":"d.example.com","pool":"p","device":"x"}]}}}}"#;
//! # let slice = br#"{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"s"},
//! # "spec":{"driver":"d.example.com","pool":{"name":"p","generation":1,"resourceSliceCount":1},
//! # "devices":[{"name":"x","attributes":{"numaNode":{"int":1}}}]}}"#;
//! let mut slices = Slices::default();
//! for slice in read_slices("slices.json", slice)? {
//!     slices.put(slice);
//! }
//! let allocated = devices(&read_claim("claim.json", claim)?, &slices)?;
//! let document = Document { pod: None, devices: allocated.devices };
//! # assert_eq!(document.devices[0].host.numa_node.unwrap().get(), 1);
//! # Ok::<(), device_attributes::ReadError>(())
//! ```
//!
//! What goes into the document is what a metadata file would give it: the same table of keys, the same limits.
//! The generation stays 0, for nobody counts updates here.

mod bytes;
mod device;
mod objects;
mod slices;

pub use bytes::{read_claim, read_slices};
pub use device::{Allocated, devices, devices_where};
pub use objects::{AllocationResult, ClaimStatus, ResourceClaim, ResourceSlice, SliceSpec};
pub use slices::Slices;

/// The annotation of a claim that was made from a template: `spec.resourceClaims[].name` of the pod
/// (`PodResourceClaimAnnotation` of `resource.k8s.io/v1`).
pub const POD_CLAIM_NAME: &str = "resource.kubernetes.io/pod-claim-name";
