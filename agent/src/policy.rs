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
//! ```
//!
//! Every table that matches a device applies, in order; a later table's key wins.

use std::path::{Path, PathBuf};

use device_attributes::read::file;
use device_attributes::{DeviceIdentity, InterfaceAddress, InterfaceName, Name, ReadError};
use serde::Deserialize;
use wildmatch::WildMatch;

/// The policy's place below `/etc`.
const FILE: &str = "dra-guest/agent.toml";
/// The directory of its drop-ins below `/etc`.
const DROP_INS: &str = "dra-guest/agent.d";

/// The policy: all tables of the file and its drop-ins, in order.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    devices: Vec<DeviceTable>,
}

/// What the tables that match one device say together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rule {
    /// The interface's name, over the document's.
    pub rename: Option<InterfaceName>,
    /// The interface's MTU, in bytes.
    pub mtu: Option<u32>,
    /// The interface's addresses, in place of the document's.
    pub addresses: Option<Vec<InterfaceAddress>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    device: Vec<DeviceTable>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct DeviceTable {
    claim: Option<String>,
    request: Option<String>,
    driver: Option<String>,
    rename: Option<InterfaceName>,
    mtu: Option<Mtu>,
    addresses: Option<Vec<InterfaceAddress>>,
}

/// 68 is the least MTU of IPv4 (RFC 791); what the device takes is checked by the planner.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "u32")]
struct Mtu(u32);

impl TryFrom<u32> for Mtu {
    type Error = String;

    fn try_from(mtu: u32) -> Result<Self, String> {
        if mtu < 68 {
            return Err(format!(
                "an MTU of {mtu} is below 68, the least of IPv4: leave the key out to keep the MTU"
            ));
        }
        Ok(Self(mtu))
    }
}

/// What is wrong with a policy, and where.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The drop-in directory cannot be listed.
    #[error("{}: {error}", .path.display())]
    List {
        /// The directory.
        path: PathBuf,
        /// The operating system's answer.
        error: std::io::Error,
    },
    /// It is not UTF-8.
    #[error("{0}: the file is not UTF-8 text")]
    NotText(String),
    /// It is no TOML, or not of the known keys; the text shows the line.
    #[error("{file}: {error}")]
    Invalid {
        /// The file.
        file: String,
        /// The parser's words, with the line.
        error: String,
    },
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
            policy.devices.extend(Self::read_file(&path)?.devices);
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
        let text = std::str::from_utf8(&bytes).map_err(|_| PolicyError::NotText(file.clone()))?;
        Self::parse(&file, text)
    }

    /// Reads a policy's text; `file` is its name for messages.
    ///
    /// # Errors
    /// When it has a mistake in it.
    pub fn parse(file: &str, text: &str) -> Result<Self, PolicyError> {
        let parsed: File = toml::from_str(text).map_err(|error| PolicyError::Invalid {
            file: file.to_owned(),
            error: error.to_string().trim_end().to_owned(),
        })?;
        Ok(Self {
            devices: parsed.device,
        })
    }

    /// The number of `[[device]]` tables.
    pub fn table_count(&self) -> usize {
        self.devices.len()
    }

    /// What the matching tables say of one device.
    pub fn rule_for(&self, identity: &DeviceIdentity) -> Rule {
        let mut rule = Rule::default();
        for table in self.devices.iter().filter(|table| table.matches(identity)) {
            if let Some(rename) = &table.rename {
                rule.rename = Some(rename.clone());
            }
            if let Some(Mtu(mtu)) = table.mtu {
                rule.mtu = Some(mtu);
            }
            if let Some(addresses) = &table.addresses {
                rule.addresses = Some(addresses.clone());
            }
        }
        rule
    }
}

impl DeviceTable {
    fn matches(&self, identity: &DeviceIdentity) -> bool {
        let claim = identity.claim.as_ref();
        // A claim made from a template has a random name; its name in the pod is the stable one.
        let claim_matches = match &self.claim {
            None => true,
            Some(pattern) => claim.is_some_and(|claim| {
                matches(pattern, Some(&claim.name))
                    || matches(pattern, claim.pod_claim_name.as_ref())
            }),
        };
        claim_matches
            && self
                .request
                .as_ref()
                .is_none_or(|pattern| matches(pattern, identity.request.as_ref()))
            && self
                .driver
                .as_ref()
                .is_none_or(|pattern| matches(pattern, identity.driver.as_ref()))
    }
}

fn matches(pattern: &str, name: Option<&Name>) -> bool {
    name.is_some_and(|name| WildMatch::new(pattern).matches(name.as_str()))
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
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(claim: &str, request: &str, driver: &str) -> DeviceIdentity {
        serde_json::from_value(serde_json::json!({
            "claim": {"namespace": "default", "name": claim, "podClaimName": "nic"},
            "request": request, "driver": driver
        }))
        .unwrap()
    }

    #[test]
    fn later_tables_win_key_by_key() {
        let policy = Policy::parse(
            "agent.toml",
            "[[device]]\nmtu = 1500\nrename = \"a\"\n\
             [[device]]\nclaim = \"vm-*\"\nrequest = \"v?\"\nmtu = 9000\n\
             [[device]]\ndriver = \"other\"\nrename = \"b\"\n",
        )
        .unwrap();
        let rule = policy.rule_for(&identity("vm-nic", "vf", "sriov"));
        assert_eq!(rule.mtu, Some(9000));
        assert_eq!(rule.rename.unwrap().as_str(), "a");
        assert_eq!(rule.addresses, None);
        assert_eq!(
            policy.rule_for(&identity("db", "vf", "sriov")).mtu,
            Some(1500)
        );
    }

    #[test]
    fn a_template_claim_matches_by_its_name_in_the_pod() {
        let policy = Policy::parse("p", "[[device]]\nclaim = \"nic\"\nmtu = 1400\n").unwrap();
        assert_eq!(
            policy.rule_for(&identity("vm-nic-x7k2p", "vf", "d")).mtu,
            Some(1400)
        );
        assert_eq!(policy.rule_for(&DeviceIdentity::default()), Rule::default());
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        for (text, line, words) in [
            (
                "[[device]]\nrenam = \"x\"\n",
                "line 2",
                "unknown field `renam`",
            ),
            ("[[device]]\nrename = \"eth%d\"\n", "line 2", "'%'"),
            ("[[device]]\n\nmtu = 0\n", "line 3", "below 68"),
            ("[[device]]\nmtu = -1\n", "line 2", "invalid value"),
            (
                "[[device]]\naddresses = [\"192.0.2.5\"]\n",
                "line 2",
                "no prefix length",
            ),
            ("[[devices]]\n", "line 1", "unknown field `devices`"),
            ("[[device]\n", "line 1", "expected"),
        ] {
            let error = Policy::parse("agent.toml", text).unwrap_err().to_string();
            assert!(error.contains(line) && error.contains(words), "{error}");
        }
    }
}
