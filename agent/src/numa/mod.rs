//! NUMA: which CPUs and memory the guest has, and what is near a device.

pub mod bounds;
pub mod cpu_list;
pub mod locality;
pub mod lookout;
pub mod partitions;
pub mod placement;
pub mod places;
pub mod topology;

pub use bounds::Bounds;
pub use cpu_list::{CpuList, ListError, NodeList};
pub use locality::{By, Clues, HostToGuest, Locality, Near, NotThere, locality};
pub use lookout::Lookout;
pub use partitions::Partition;
pub use places::Places;
pub use topology::Topology;
