//! Kubernetes' own components as a test bed: etcd and the API server, and clients of it.

mod client;
mod components;
mod control_plane;
mod port;
mod service_account;
mod state;

pub use client::{Answer, Client};
pub use components::Components;
pub use control_plane::ControlPlane;
pub use service_account::ServiceAccount;
