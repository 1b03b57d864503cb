//! The steps of a plan: each one change of one device, with the reason for it.

use std::fmt;

use device_attributes::{InterfaceAddress, MacAddress};
use serde::{Deserialize, Serialize};

use super::pin::Pin;
use crate::observe::Ipv6Settings;
use crate::routing::{Route, RoutingRule};

/// One change of one device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Step {
    /// The device it is for, by its place in the list of wanted devices.
    pub device: usize,
    /// The interface's index; 0, which is no interface's, for a device that has none.
    pub interface: u32,
    /// The interface's name at that point of the plan, for messages; the PCI address of a device that has
    /// none.
    pub name: String,
    /// What changes.
    pub action: Action,
    /// Why, in a sentence.
    pub reason: String,
    /// Where that stands: `FILE:LINE:COLUMN` of a policy, or the name of an attribute. Absent where
    /// it follows from other steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// What changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum Action {
    /// The interface's name, to its wanted or to a temporary one.
    Rename {
        /// The new name.
        to: String,
    },
    /// One more name.
    AddAlternativeName {
        /// The name.
        alternative: String,
    },
    /// One name less: the interface is to have it as its own.
    RemoveAlternativeName {
        /// The name.
        alternative: String,
    },
    /// The MAC address.
    SetMacAddress {
        /// The MAC address before, for undoing it.
        from: MacAddress,
        /// The new MAC address.
        to: MacAddress,
    },
    /// The MTU, in bytes.
    SetMtu {
        /// The MTU before, for undoing it.
        from: u32,
        /// The new MTU.
        to: u32,
        /// What IPv6 is set to, where one of both MTUs is below its least: the kernel takes it away, and gives it back
        /// as `net.ipv6.conf.default` says (`addrconf_notify` in `net/ipv6/addrconf.c`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ipv6: Option<Ipv6Settings>,
    },
    /// A sysctl of the interface.
    SetSysctl {
        /// Which.
        sysctl: Sysctl,
        /// The value before, for undoing it.
        from: u32,
        /// The new value.
        to: u32,
    },
    /// Administratively up.
    SetUp(Others),
    /// One more address.
    AddAddress {
        /// The address.
        address: InterfaceAddress,
    },
    /// One address less, which the agent added.
    RemoveAddress {
        /// The address.
        address: InterfaceAddress,
    },
    /// One more route.
    AddRoute {
        /// The route.
        route: Route,
    },
    /// One route less, which the agent made.
    RemoveRoute {
        /// The route.
        route: Route,
    },
    /// One more policy rule.
    AddRule {
        /// The rule.
        rule: RoutingRule,
    },
    /// One policy rule less, which the agent made.
    RemoveRule {
        /// The rule.
        rule: RoutingRule,
    },
    /// What serves the device.
    Pin(Pin),
}

/// What others had on an interface that was down: no reason to leave it up when it is set down again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Others {
    /// The addresses that are not the agent's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<InterfaceAddress>,
    /// The index of the bond, bridge or other controller that it belonged to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<u32>,
    /// The indices of the interfaces that were made on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<u32>,
}

/// A sysctl that each interface has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Sysctl {
    /// `net.ipv4.conf.NAME.rp_filter`.
    RpFilter,
    /// `net.ipv6.conf.NAME.accept_ra`.
    AcceptRa,
}

impl Sysctl {
    /// Its file below `/proc`.
    pub fn path(self, interface: &str) -> String {
        match self {
            Self::RpFilter => format!("sys/net/ipv4/conf/{interface}/rp_filter"),
            Self::AcceptRa => format!("sys/net/ipv6/conf/{interface}/accept_ra"),
        }
    }
}

impl fmt::Display for Sysctl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RpFilter => "rp_filter",
            Self::AcceptRa => "accept_ra",
        })
    }
}

/// Steps that stand or fall together: when one fails, those before it are undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Transaction {
    /// The steps, in the order that the kernel needs.
    pub steps: Vec<Step>,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match &self.action {
            Action::Rename { to } => write!(f, "rename {name} to {to}"),
            Action::AddAlternativeName { alternative } => {
                write!(f, "give {name} the alternative name {alternative}")
            }
            Action::RemoveAlternativeName { alternative } => {
                write!(f, "take the alternative name {alternative} from {name}")
            }
            Action::SetMacAddress { from, to } => {
                write!(f, "set the MAC address of {name} from {from} to {to}")
            }
            Action::SetMtu { from, to, .. } => {
                write!(f, "set the MTU of {name} from {from} to {to}")
            }
            Action::SetSysctl { sysctl, from, to } => {
                write!(f, "set {sysctl} of {name} from {from} to {to}")
            }
            Action::SetUp(_) => write!(f, "set {name} up"),
            Action::AddAddress { address } => write!(f, "add {address} to {name}"),
            Action::RemoveAddress { address } => write!(f, "remove {address} from {name}"),
            Action::AddRoute { route } => write!(f, "add to {name} the {route}"),
            Action::RemoveRoute { route } => write!(f, "remove from {name} the {route}"),
            Action::AddRule { rule } => write!(f, "add for {name} the {rule}"),
            Action::RemoveRule { rule } => write!(f, "remove for {name} the {rule}"),
            Action::Pin(pin) => f.write_str(&pin.words(name)),
        }
    }
}
