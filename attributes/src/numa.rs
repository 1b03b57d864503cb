//! NUMA node numbers.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

/// The number of a NUMA node, of the host or of the guest as its place says; 0 to 1023.
///
/// The kernel's `CONFIG_NODES_SHIFT` is at most 10, and upstream's `resource.kubernetes.io/numaNode`
/// has the same bound. The kernel's -1 ("no affinity") is never a node: it is an absent value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(into = "i64")]
pub struct NodeId(u16);

/// Why a number is no [`NodeId`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NodeError {
    /// A negative number, which the kernel uses for "no affinity".
    #[error("NUMA node {0} means \"no affinity\": leave the key out")]
    Negative(i64),
    /// A number that no kernel can have.
    #[error("{0} is not a NUMA node: the numbers go from 0 to 1023")]
    Range(i64),
}

impl NodeId {
    /// The number.
    pub fn get(self) -> u16 {
        self.0
    }
}

impl TryFrom<i64> for NodeId {
    type Error = NodeError;

    fn try_from(number: i64) -> Result<Self, NodeError> {
        match u16::try_from(number) {
            Ok(node) if node < 1024 => Ok(Self(node)),
            _ if number < 0 => Err(NodeError::Negative(number)),
            _ => Err(NodeError::Range(number)),
        }
    }
}

impl<'de> Deserialize<'de> for NodeId {
    /// By a visitor, so that the parser of JSON knows the place of a number that is no node.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;
        impl serde::de::Visitor<'_> for Number {
            type Value = NodeId;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("i64")
            }
            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<NodeId, E> {
                number.try_into().map_err(E::custom)
            }
            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<NodeId, E> {
                self.visit_i64(i64::try_from(number).unwrap_or(i64::MAX))
            }
        }
        deserializer.deserialize_i64(Number)
    }
}

impl From<NodeId> for i64 {
    fn from(node: NodeId) -> Self {
        node.0.into()
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // amazon-ec2-net-utils#90 (case 23).
    #[test]
    fn zero_is_a_node_and_minus_one_is_not() {
        assert_eq!(NodeId::try_from(0).unwrap().get(), 0);
        assert_eq!(NodeId::try_from(1023).unwrap().get(), 1023);
        assert_eq!(NodeId::try_from(-1), Err(NodeError::Negative(-1)));
        assert_eq!(NodeId::try_from(1024), Err(NodeError::Range(1024)));
        assert_eq!(NodeId::try_from(i64::MAX), Err(NodeError::Range(i64::MAX)));
    }
}
