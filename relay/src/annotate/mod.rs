//! The document as an annotation of each virt-launcher pod, for a guest that reads it through a downwardAPI volume.
//!
//! [`heard`] keeps what the watches say of pods, claims and slices ([`watches`]); [`files`] reads the drivers' metadata
//! directories; [`document`] (pure) makes of both what a pod's annotation is to be; [`annotator`] goes over the pods
//! whenever something may be new, and [`mod@write`] applies what differs. [`answers`] gives the document to the NRI plugin on the node, on a socket.

pub mod annotator;
pub mod answers;
pub mod document;
pub mod files;
pub mod heard;
pub mod watches;
pub mod write;

/// The annotation. Its value is the document's bytes.
pub const ANNOTATION: &str = "dra-guest/device-attributes";
