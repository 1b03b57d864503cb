//! A Kubernetes node: guests are the VMs of KubeVirt that run on it, and claims are objects of the API server.
//!
//! [`watch`] (pods and VMs of the node) → [`index`] (pure: CID → VM → pods → claims) → a task for each guest; its word
//! goes by [`claims`] (who has which claim; one writer a claim, newest word, retries) and [`transfer`] to the
//! API server: joined with those of the other VMs of the claim by [`shared`] (pure), as the body of a server-side apply by
//! [`apply`] (pure), and taken back by [`release`] (pure). [`refusal`] says what the API server's answer means. When
//! readiness [`turns`] (pure), [`events`] tell it on the VMs.

pub mod apply;
pub mod claim_status;
pub mod claims;
pub mod connect;
pub mod events;
mod guests;
pub mod index;
pub mod objects;
pub mod patient;
pub mod refusal;
pub mod release;
pub mod requests;
pub mod shared;
pub mod transfer;
pub mod turns;
pub mod vsock_mode;
pub mod watch;
mod writer;
