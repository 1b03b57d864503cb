//! A policy rule: which table decides for which packets.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{PROTOCOL, table_name};
use crate::policy::{Family, Mark, Prefix};

/// A policy rule that leads to a table, and selects by what a policy can name. A rule that selects
/// by anything else is nobody's here, and not observed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RoutingRule {
    /// The least comes first.
    pub priority: u32,
    /// The family of the packets.
    pub family: Family,
    /// Their source; absent for any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Prefix>,
    /// Their destination; absent for any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Prefix>,
    /// The name of the interface that they came in by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iif: Option<String>,
    /// Their mark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fwmark: Option<Mark>,
    /// The table that decides.
    pub table: u32,
    /// Who made it.
    pub protocol: u8,
}

impl RoutingRule {
    /// Whether both do the same at the same place, whoever made them.
    pub fn is_met_by(&self, other: &Self) -> bool {
        let does = |it: &Self| (it.priority, it.family, it.from, it.to, it.fwmark, it.table);
        does(self) == does(other) && self.iif == other.iif
    }

    /// Whether the agent made it.
    pub fn is_own(&self) -> bool {
        self.protocol == PROTOCOL
    }
}

impl fmt::Display for RoutingRule {
    /// Like `rule 10739 from 192.0.2.5/32, table 10739003`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule {}", self.priority)?;
        if self.from.is_none() && self.to.is_none() {
            write!(f, " for {}", self.family)?;
        }
        if let Some(from) = self.from {
            write!(f, " from {from}")?;
        }
        if let Some(to) = self.to {
            write!(f, " to {to}")?;
        }
        if let Some(iif) = &self.iif {
            write!(f, " in by {iif}")?;
        }
        if let Some(mark) = self.fwmark {
            write!(f, " with mark {mark}")?;
        }
        write!(f, ", table {}", table_name(self.table))
    }
}
