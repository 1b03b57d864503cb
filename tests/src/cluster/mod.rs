//! Kubernetes' own components as a test bed: a control plane, a node, and clients. Needs root for the node.

mod audit;
mod client;
mod components;
mod control_plane;
pub mod deployment;
pub(crate) mod image;
mod images;
mod kubevirt;
mod node;
mod overlay;
mod port;
mod service_account;
mod state;
mod user;
mod whole;

pub use audit::Asked;
pub use client::{Answer, Client};
pub use components::Components;
pub use control_plane::ControlPlane;
pub use deployment::Deployment;
pub use image::IMAGE;
pub use images::{HOOK_IMAGE, NRI_IMAGE, RELAY_IMAGE, write_hook_image, write_nri_image};
pub use kubevirt::{VMS, install_kubevirt};
pub use node::Node;
pub use overlay::{Addition, guest_socket_argument, shipped};
pub use service_account::ServiceAccount;
pub use user::User;
pub use whole::Cluster;

/// The name of the one node.
pub const NODE: &str = "worker-0";
