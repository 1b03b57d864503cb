//! The whole way of one device's attributes, on real parts: from a ResourceClaim and its driver's
//! metadata, through a container's hook and a guest, back to the claim's status.

mod carried;
mod claim;
mod facts;
mod node;
mod preparation;
mod progress;
mod walk;

pub use carried::carried;
pub use claim::{Claim, Condition, DeviceStatus};
pub use facts::NicFacts;
pub use node::Node;
pub use preparation::journal;
pub(crate) use preparation::{bake_image, build_programs};
pub use progress::Progress;
pub use walk::{Arrival, Walk};

/// The MAC address of the claim's NIC, host and guest alike.
pub const NIC_MAC: &str = "02:00:00:4e:92:87";
/// The NIC's name that the claim asks for.
pub const NIC_NAME: &str = "net1";
/// The MTU that the policy in the image asks for.
pub const NIC_MTU: u32 = 9000;
/// The NIC's addresses that the claim asks for.
pub const NIC_ADDRESSES: [&str; 2] = ["192.0.2.5/24", "2001:db8::5/64"];
/// The policy of the image's owner.
pub const POLICY: &str = "\
[[device]]
driver = \"sriov.example.com\"
mtu = 9000
";
/// What upstream's kubelet plugin library writes for the claim's one request.
pub const METADATA: &str = include_str!("metadata.json");
/// Where the driver's CDI device mounts it in the container (KEP-5304).
pub const METADATA_PATH: &str = "/var/run/kubernetes.io/dra-device-attributes/resourceclaimtemplates/nic/vf/sriov.example.com-metadata.json";
/// Where the VM mount is in the container.
pub const VM_MOUNT: &str = "/var/run/device-attributes";
