//! Where conditions are put: the seam between what guests say and what holds the claims.

use std::fmt;
use std::str::FromStr;

use device_attributes::Name;

use crate::statement::{Condition, Statement};

/// The namespace and the name of a ResourceClaim.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClaimName {
    /// The namespace.
    pub namespace: Name,
    /// The name.
    pub name: Name,
}

impl fmt::Display for ClaimName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl FromStr for ClaimName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (namespace, name) = text.split_once('/').ok_or_else(|| {
            format!("{text:?} is not NAMESPACE/NAME of a ResourceClaim, like default/vm-nic-7xk2p")
        })?;
        if name.contains('/') {
            return Err(format!(
                "{text:?} has more than one '/': NAMESPACE/NAME is expected"
            ));
        }
        let part = |text: &str| text.parse::<Name>().map_err(|error| error.to_string());
        Ok(Self {
            namespace: part(namespace)?,
            name: part(name)?,
        })
    }
}

/// All that is to stand on one claim now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaimUpdate {
    /// What the guest says.
    pub statements: Vec<Statement>,
    /// What every other device of the claim that has our condition says from now on; `None` leaves
    /// them as they are.
    pub unreported: Option<Condition>,
}

/// What came of an update.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Whether the claim was changed.
    pub changed: bool,
    /// What could not be put on it, and why: sentences that a guest may read.
    pub problems: Vec<String>,
}

/// Why a claim could not be read or written.
///
/// The text names places of the node and is for the log. A guest is told [`StoreError::for_guest`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StoreError(pub String);

impl StoreError {
    /// What a guest may know of it.
    pub fn for_guest(claim: &ClaimName) -> String {
        format!(
            "{claim}: the claim cannot be written now; the log of the relay says why, and it tries again"
        )
    }
}

/// A place that holds claims.
pub trait ClaimStore: Send + Sync + 'static {
    /// Puts everything on one claim in one write, and returns when that is durable. An update that
    /// changes nothing writes nothing.
    fn update(
        &self,
        claim: &ClaimName,
        update: ClaimUpdate,
    ) -> impl Future<Output = Result<Outcome, StoreError>> + Send;
}
