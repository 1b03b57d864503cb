//! Container runtimes, as the hook meets them: runc, crun and youki with a bundle, podman and containerd with
//! CDI.
//!
//! Everything runs in mount and PID namespaces of its own, with a tmpfs on `/run`: the node's CDI
//! directories and the runtimes' own state are not touched, and whatever was mounted or started is
//! gone when the call returns or the caller dies. Needs root.

mod bundle;
mod cgroup;
mod containerd;
mod image;
mod mount;
pub mod oracle;
mod podman;
mod private;
mod series;
mod tree;

pub use bundle::{Bundle, OciRuntime};
pub(crate) use cgroup::Cgroup;
pub use containerd::{Client, ContainerdRun, Handler};
pub use image::busybox_root;
pub use mount::BindMount;
pub use podman::PodmanRun;
pub use private::Outcome;
pub use series::start_times;
pub use tree::TreeState;
