//! The peer that describes the state of interfaces and applies it: `nmstatectl apply --kernel`, without `NetworkManager`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::{Value, json};

use crate::cache;

/// The program, and the state that it is to reach: interfaces that are up, with an address. It gives no names, and
/// without `NetworkManager` no MTU: an MTU in the state is verified, found missing, and all is rolled back (2.2.62).
pub(super) struct Nmstate {
    program: PathBuf,
    state: PathBuf,
}

impl Nmstate {
    /// Writes the state below `directory`: the name of each interface, its address, and the length of the prefix.
    ///
    /// # Errors
    /// When the program was not built, or the file cannot be written.
    pub(super) fn new(
        directory: &Path,
        interfaces: impl Iterator<Item = (String, String, u8)>,
    ) -> Result<Self> {
        let interfaces: Vec<Value> = interfaces
            .map(|(name, address, length)| {
                json!({
                    "name": name, "type": "ethernet", "state": "up",
                    "ipv4": {
                        "enabled": true, "dhcp": false,
                        "address": [{"ip": address, "prefix-length": length}]
                    },
                })
            })
            .collect();
        let state = directory.join("state.json");
        fs::write(&state, json!({"interfaces": interfaces}).to_string())?;
        let program = cache::tool("nmstatectl")?;
        Ok(Self { program, state })
    }

    /// The command line.
    pub(super) fn command(&self) -> Option<Vec<&str>> {
        let (program, state) = (self.program.to_str()?, self.state.to_str()?);
        Some(vec![program, "apply", "--kernel", "-q", state])
    }
}
