//! Two NICs that a manager wants: one that the agent takes, and one that the policy leaves to the manager.

use serde_json::{Value, json};

use crate::way::NIC_MAC;

/// The MAC address of the one that is left.
pub const LEFT_MAC: &str = "02:00:00:00:0e:04";

/// The document's devices: `igb`, which is to be net1, and `left`, which is to be net2.
pub fn igb_and_left() -> Value {
    json!([
        {
            "device": "igb", "request": "igb",
            "network": {"interfaceName": "net1", "macAddress": NIC_MAC, "ipAddresses": ["192.0.2.5/24"]}
        },
        {
            "device": "left", "request": "left",
            "network": {"interfaceName": "net2", "macAddress": LEFT_MAC}
        }
    ])
}

/// The hardware of `left`, as arguments of QEMU; udev calls it enp0s16.
pub fn left_hardware() -> String {
    format!(
        "-netdev hubport,id=n2,hubid=3 -device e1000e,bus=pcie.0,addr=0x10,netdev=n2,mac={LEFT_MAC}"
    )
}
