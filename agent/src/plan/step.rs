//! The steps of a plan: each one change of one interface, with the reason for it.

use std::fmt;

use device_attributes::InterfaceAddress;
use serde::{Deserialize, Serialize};

/// One change of one interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Step {
    /// The device it is for, by its place in the list of wanted devices.
    pub device: usize,
    /// The interface's index.
    pub interface: u32,
    /// The interface's name at that point of the plan, for messages.
    pub name: String,
    /// What changes.
    pub action: Action,
    /// Why, in a sentence.
    pub reason: String,
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
    /// The MTU, in bytes.
    SetMtu {
        /// The MTU before, for undoing it.
        from: u32,
        /// The new MTU.
        to: u32,
    },
    /// Administratively up.
    SetUp,
    /// One more address.
    AddAddress {
        /// The address.
        address: InterfaceAddress,
    },
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
        match &self.action {
            Action::Rename { to } => write!(f, "rename {} to {to}", self.name),
            Action::SetMtu { from, to } => {
                write!(f, "set the MTU of {} from {from} to {to}", self.name)
            }
            Action::SetUp => write!(f, "set {} up", self.name),
            Action::AddAddress { address } => write!(f, "add {address} to {}", self.name),
        }
    }
}
