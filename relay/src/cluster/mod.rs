//! A Kubernetes node: guests are the VMs of KubeVirt that run on it, and claims are objects of the API server.
//!
//! [`watch`] (pods and VMs of the node) → [`index`] (pure: CID → VM → pods → claims) → a task for each guest;
//! its word goes by [`claims`] (one writer a claim, newest word, retries) and [`apply`] (pure: the body of the
//! server-side apply) to the API server, and [`refusal`] says what its answer means. When a condition turns, [`events`] tells it on the VM.

pub mod apply;
pub mod claims;
pub mod connect;
pub mod events;
pub mod index;
pub mod objects;
pub mod refusal;
pub mod watch;
mod writer;
