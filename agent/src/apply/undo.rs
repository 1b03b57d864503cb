//! What takes back one step.

use std::fmt;

use device_attributes::{InterfaceAddress, MacAddress};
use serde::{Deserialize, Serialize};

use crate::observe::Ipv6Settings;
use crate::plan::{Action, Pin, Step, Sysctl};
use crate::routing::{Route, RoutingRule};

/// What takes one step back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum Undo {
    /// The name that it had.
    Rename {
        /// The interface's index.
        interface: u32,
        /// The name that it was given.
        from: String,
        /// The name that it had.
        to: String,
    },
    /// Without the alternative name that was added.
    RemoveAlternativeName {
        /// The interface's index.
        interface: u32,
        /// Its name, for messages.
        name: String,
        /// The alternative name.
        alternative: String,
    },
    /// With the alternative name that was taken away.
    AddAlternativeName {
        /// The interface's index.
        interface: u32,
        /// Its name, for messages.
        name: String,
        /// The alternative name.
        alternative: String,
    },
    /// The MAC address that it had.
    SetMacAddress {
        /// The interface's index.
        interface: u32,
        /// Its name, for messages.
        name: String,
        /// The MAC address that it had.
        to: MacAddress,
    },
    /// The value that a sysctl had.
    SetSysctl {
        /// The interface's index.
        interface: u32,
        /// Its name, which is in the sysctl's path.
        name: String,
        /// Which sysctl.
        sysctl: Sysctl,
        /// The value that it had.
        to: u32,
    },
    /// The MTU that it had.
    SetMtu {
        /// The interface's index.
        interface: u32,
        /// Its name, for messages.
        name: String,
        /// The MTU that it had.
        to: u32,
        /// What IPv6 was set to, where the kernel gives it back with that MTU.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ipv6: Option<Ipv6Settings>,
    },
    /// Down, as it was.
    SetDown {
        /// The interface's index.
        interface: u32,
        /// Its name, for messages.
        name: String,
    },
    /// Without the address that was added.
    RemoveAddress {
        /// The interface's index.
        interface: u32,
        /// Its name, for messages.
        name: String,
        /// The address.
        address: InterfaceAddress,
    },
    /// With the address that was removed.
    AddAddress {
        /// The interface's index.
        interface: u32,
        /// Its name, for messages.
        name: String,
        /// The address.
        address: InterfaceAddress,
    },
    /// Without the route that was added.
    RemoveRoute {
        /// The index of the interface that it was added for.
        interface: u32,
        /// Its name, for messages.
        name: String,
        /// The route.
        route: Route,
    },
    /// With the route that was removed.
    AddRoute {
        /// The index of the interface that it was removed for.
        interface: u32,
        /// Its name, for messages.
        name: String,
        /// The route.
        route: Route,
    },
    /// Without the policy rule that was added.
    RemoveRule {
        /// The index of the interface that it was added for.
        interface: u32,
        /// Its name, for messages.
        name: String,
        /// The rule.
        rule: RoutingRule,
    },
    /// With the policy rule that was removed.
    AddRule {
        /// The index of the interface that it was removed for.
        interface: u32,
        /// Its name, for messages.
        name: String,
        /// The rule.
        rule: RoutingRule,
    },
    /// What served the device.
    Pin {
        /// The interface's index; 0 for a device that has none.
        interface: u32,
        /// Its name, which is in the path of its queues; the PCI address of one that has none.
        name: String,
        /// What it was, as what it becomes.
        pin: Pin,
    },
}

impl Undo {
    /// What takes `step` back, were it made.
    pub fn of(step: &Step) -> Self {
        let interface = step.interface;
        let name = step.name.clone();
        match &step.action {
            Action::Rename { to } => Self::Rename {
                interface,
                from: to.clone(),
                to: name,
            },
            Action::AddAlternativeName { alternative } => Self::RemoveAlternativeName {
                interface,
                name,
                alternative: alternative.clone(),
            },
            Action::RemoveAlternativeName { alternative } => Self::AddAlternativeName {
                interface,
                name,
                alternative: alternative.clone(),
            },
            Action::SetMacAddress { from, .. } => Self::SetMacAddress {
                interface,
                name,
                to: *from,
            },
            Action::SetSysctl { sysctl, from, .. } => Self::SetSysctl {
                interface,
                name,
                sysctl: *sysctl,
                to: *from,
            },
            Action::SetMtu { from, ipv6, .. } => Self::SetMtu {
                interface,
                name,
                to: *from,
                ipv6: ipv6.clone(),
            },
            Action::SetUp(_) => Self::SetDown { interface, name },
            Action::AddAddress { address } => Self::RemoveAddress {
                interface,
                name,
                address: *address,
            },
            Action::RemoveAddress { address } => Self::AddAddress {
                interface,
                name,
                address: *address,
            },
            Action::AddRoute { route } => Self::RemoveRoute {
                interface,
                name,
                route: route.clone(),
            },
            Action::RemoveRoute { route } => Self::AddRoute {
                interface,
                name,
                route: route.clone(),
            },
            Action::AddRule { rule } => Self::RemoveRule {
                interface,
                name,
                rule: rule.clone(),
            },
            Action::RemoveRule { rule } => Self::AddRule {
                interface,
                name,
                rule: rule.clone(),
            },
            Action::Pin(pin) => Self::Pin {
                interface,
                name,
                pin: pin.reversed(),
            },
        }
    }
}

impl fmt::Display for Undo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rename { from, to, .. } => write!(f, "rename {from} back to {to}"),
            Self::RemoveAlternativeName {
                name, alternative, ..
            } => write!(
                f,
                "take the alternative name {alternative} from {name} again"
            ),
            Self::AddAlternativeName {
                name, alternative, ..
            } => write!(f, "give {name} the alternative name {alternative} again"),
            Self::SetMacAddress { name, to, .. } => {
                write!(f, "set the MAC address of {name} back to {to}")
            }
            Self::SetSysctl {
                name, sysctl, to, ..
            } => write!(f, "set {sysctl} of {name} back to {to}"),
            Self::SetMtu { name, to, .. } => write!(f, "set the MTU of {name} back to {to}"),
            Self::SetDown { name, .. } => write!(f, "set {name} down again"),
            Self::RemoveAddress { name, address, .. } => {
                write!(f, "remove {address} from {name} again")
            }
            Self::AddAddress { name, address, .. } => write!(f, "add {address} to {name} again"),
            Self::RemoveRoute { name, route, .. } => {
                write!(f, "remove from {name} the {route} again")
            }
            Self::AddRoute { name, route, .. } => write!(f, "add to {name} the {route} again"),
            Self::RemoveRule { name, rule, .. } => write!(f, "remove for {name} the {rule} again"),
            Self::AddRule { name, rule, .. } => write!(f, "add for {name} the {rule} again"),
            Self::Pin { name, pin, .. } => f.write_str(&pin.words_back(name)),
        }
    }
}
