//! Who else configures the guest's network interfaces, and how they are told which are ours.
//!
//! `systemd-networkd`, `NetworkManager` and `ifupdown` are the programs that do; `cloud-init` and
//! `netplan` write configuration for them, which is told by the names of their files.

mod disowned;
mod drop_ins;
mod enabled;
mod foreseen;
mod hand_over;
mod ifupdown;
mod ini;
mod match_section;
mod network_manager;
mod networkd;
mod own_files;
mod reload;
mod standing;

use std::fmt;
use std::path::{Path, PathBuf};

pub use drop_ins::{DropIn, Ours, drop_ins};
pub use foreseen::{FileStep, foreseen};
pub use hand_over::{hand_over, take_back};
pub use own_files::Change;
pub(crate) use reload::{output_of, run as run_program};
pub use standing::{Standing, found, ours};

use crate::observe::Interface;
use crate::roots::Roots;
use crate::small_file;

/// A program that configures network interfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Manager {
    /// `systemd-networkd.service(8)`.
    Networkd,
    /// `NetworkManager(8)`.
    NetworkManager,
    /// `ifup(8)` by `interfaces(5)`.
    Ifupdown,
}

impl fmt::Display for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Networkd => "systemd-networkd",
            Self::NetworkManager => "NetworkManager",
            Self::Ifupdown => "ifupdown",
        })
    }
}

/// A program that configures one interface, or is about to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The program.
    pub manager: Manager,
    /// The file that makes it do so, where it is known.
    pub file: Option<PathBuf>,
}

impl fmt::Display for Owner {
    /// As in "systemd-networkd (/etc/systemd/network/10-cloud-init-ens3.network, by cloud-init)".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(file) = &self.file else {
            return self.manager.fmt(f);
        };
        write!(f, "{} ({}", self.manager, file.display())?;
        match author(file) {
            Some(author) => write!(f, ", by {author})"),
            None => f.write_str(")"),
        }
    }
}

/// Who wrote a manager's file, by the names that their renderers give.
fn author(file: &Path) -> Option<&'static str> {
    let name = file.file_name()?.to_str()?;
    ["cloud-init", "netplan"]
        .into_iter()
        .find(|author| name.contains(author))
}

/// Which managers the guest has; each is asked for an interface only where it can matter.
#[derive(Debug)]
pub struct Managers<'a> {
    roots: &'a Roots,
    networkd: bool,
    network_manager: bool,
    ifupdown: Vec<ifupdown::Stanza>,
}

impl<'a> Managers<'a> {
    /// Looks which managers run, or will: the agent is there before them when the guest boots.
    pub fn look(roots: &'a Roots) -> Self {
        let is_enabled = |unit| enabled::is_enabled(roots, unit);
        Self {
            roots,
            networkd: networkd::is_running(roots) || is_enabled("systemd-networkd.service"),
            network_manager: network_manager::is_running(roots)
                || is_enabled("NetworkManager.service"),
            ifupdown: ifupdown::stanzas(&roots.etc),
        }
    }

    /// The programs that configure an interface, or will once they start. `wanted` is the name that it
    /// is to have, for `interfaces(5)`, which knows interfaces by nothing else.
    pub fn owners_of(&self, interface: &Interface, wanted: Option<&str>) -> Vec<Owner> {
        let networkd = self
            .networkd
            .then(|| networkd::owner(self.roots, interface));
        let network_manager =
            (self.network_manager).then(|| network_manager::owner(self.roots, interface));
        let ifupdown = ifupdown::owner(&self.ifupdown, interface, wanted);
        [networkd.flatten(), network_manager.flatten(), ifupdown]
            .into_iter()
            .flatten()
            .collect()
    }
}

/// A file's text; none when it is not there, is no text, or is larger than any configuration.
fn text(path: &Path) -> Option<String> {
    String::from_utf8(small_file::read(path).ok()?).ok()
}
