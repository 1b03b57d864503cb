//! The whole way on a node of Kubernetes: a claim that the scheduler allocates, a driver on upstream's
//! library that does not know of this project, the NRI plugin, the pod's own emptyDir as a real guest's VM mount, and the relay as `deploy/` installs it.
//!
//! The part of KubeVirt is played: its kind of VMs, a VM and the pod that its controller would make for
//! it, and the guest under QEMU, which on a cluster runs in that pod and here beside it.

mod bed;
mod relay;
mod vm;
mod walk;

pub use bed::{Asker, Bed, DEVICE, DRIVER};
pub use relay::Relay;
pub use vm::Vm;
pub use walk::{Arrival, WalkOnNode};
