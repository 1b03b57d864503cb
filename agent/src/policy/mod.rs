//! The policy of the image's owner: `/etc/dra-guest/agent.toml` and the drop-ins beside it.
//!
//! ```toml
//! [[device]]
//! claim = "vm-nic-*"          # globs; a table without any of the three is for every device
//! request = "vf"
//! driver = "sriov.example.com"
//! rename = "net1"
//! mtu = 9000
//! addresses = ["192.0.2.5/24"]
//! routes = [{to = "default", via = "192.0.2.1"}]
//! ```
//!
//! Every table that matches a device applies, in order; a later table's key wins. `docs/policy.md`
//! describes every key.

mod alternative_name;
mod coexistence;
mod device_table;
mod error;
mod nodes;
mod pinning;
mod prefix;
mod reader;
mod route;
mod routing_rule;
mod sysctl;
#[cfg(test)]
mod tests;
mod values;

use std::path::{Path, PathBuf};

use device_attributes::read::file;
use device_attributes::{DeviceIdentity, limits};

pub use alternative_name::AlternativeName;
pub use coexistence::Coexistence;
use device_table::DeviceTable;
pub use device_table::Rule;
pub use error::{Mistake, Mistakes, Place, PolicyError};
pub use nodes::HostNodes;
pub use pinning::{Interrupts, PinTarget, Queues, UnitName};
pub use prefix::{Family, Prefix, PrefixError};
use reader::Reader;
pub use route::{MAIN_TABLE, Route, RouteKind};
pub use routing_rule::{Mark, RoutingRule};
pub use sysctl::{ReversePathFilter, RouterAnnouncements};

/// The policy's place below `/etc`.
const FILE: &str = "dra-guest/agent.toml";
/// The directory of its drop-ins below `/etc`.
const DROP_INS: &str = "dra-guest/agent.d";

/// The policy: all tables of the file and its drop-ins, in order.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    devices: Vec<DeviceTable>,
    host_nodes: HostNodes,
}

impl Policy {
    /// Reads the policy below the root of `/etc`; without any file it is empty.
    ///
    /// # Errors
    /// When a file is there that cannot be read or has a mistake in it.
    pub fn load(etc: &Path) -> Result<Self, PolicyError> {
        let mut policy = Self::default();
        match Self::read_file(&etc.join(FILE)) {
            Ok(main) => policy = main,
            Err(PolicyError::Read(error)) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
        for path in drop_ins(&etc.join(DROP_INS))? {
            policy.lay_over(Self::read_file(&path)?);
        }
        Ok(policy)
    }

    /// Reads one file.
    ///
    /// # Errors
    /// When it cannot be read or has a mistake in it.
    pub fn read_file(path: &Path) -> Result<Self, PolicyError> {
        let bytes = file::read_path(path)?;
        let file = path.display().to_string();
        let text = std::str::from_utf8(&bytes).map_err(|error| {
            let text = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let line = text.split(|byte| *byte == b'\n').count();
            PolicyError::NotText(file.clone(), line)
        })?;
        Self::parse(&file, text)
    }

    /// Reads a policy's text; `file` is its name for messages.
    ///
    /// # Errors
    /// With every mistake in it, each with its place.
    pub fn parse(file: &str, text: &str) -> Result<Self, PolicyError> {
        Ok(Reader::read(file, text, |table| Self {
            devices: DeviceTable::read_all(table),
            host_nodes: nodes::read(table),
        })?)
    }

    /// Lays a later file over this one.
    fn lay_over(&mut self, later: Self) {
        self.devices.extend(later.devices);
        self.host_nodes.extend(later.host_nodes);
    }

    /// Which nodes of the guest the host's nodes are.
    pub fn host_nodes(&self) -> &HostNodes {
        &self.host_nodes
    }

    /// The number of `[[device]]` tables.
    pub fn table_count(&self) -> usize {
        self.devices.len()
    }

    /// What the matching tables say of one device.
    pub fn rule_for(&self, identity: &DeviceIdentity) -> Rule {
        let mut rule = Rule::default();
        for table in &self.devices {
            table.apply_to(&mut rule, identity);
        }
        rule
    }
}

/// The `*.toml` files of a directory, by name; none when there is no such directory.
fn drop_ins(directory: &Path) -> Result<Vec<PathBuf>, PolicyError> {
    let list_error = |error| PolicyError::List {
        path: directory.to_owned(),
        error,
    };
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(list_error(error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(list_error)?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            paths.push(path);
        }
    }
    if paths.len() > limits::FILES {
        return Err(PolicyError::TooManyDropIns {
            path: directory.to_owned(),
            most: limits::FILES,
        });
    }
    paths.sort();
    Ok(paths)
}
