//! What of a device is wanted near it, and what is: for the status.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::numa::{CpuList, Locality, NotThere};

/// What of a device is wanted near it, and what is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PinningNow {
    /// The CPUs near it that its work may be given to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<CpuList>,
    /// Why nothing of it is pinned; absent where something is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpinned: Option<String>,
    /// Its interrupts, where the policy is about them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interrupts: Vec<PinnedInterrupt>,
    /// What is left as it is, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
    /// Its combined channels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channels: Option<PinnedChannels>,
    /// The queues that it sends by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transmit: Vec<PinnedQueue>,
    /// The queues that it receives by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receive: Vec<PinnedQueue>,
    /// Who changes it again; absent as long as nobody has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contested: Option<Contested>,
}

/// An interrupt: what is wanted of it, and what is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PinnedInterrupt {
    /// The kernel's number.
    pub number: u32,
    /// The CPUs that are to serve it; absent where it cannot be moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted: Option<CpuList>,
    /// The CPUs that may serve it.
    pub cpus: CpuList,
    /// Those that do.
    #[serde(default, skip_serializing_if = "CpuList::is_empty")]
    pub serving: CpuList,
}

/// A queue: what is wanted of it, and what is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PinnedQueue {
    /// The CPUs that are to work with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted: Option<CpuList>,
    /// Those that do.
    pub cpus: CpuList,
}

/// How many combined channels are wanted, and are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PinnedChannels {
    /// Wanted.
    pub wanted: u32,
    /// Now.
    pub combined: u32,
}

/// That others change what was set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Contested {
    /// How often it had to be set again.
    pub times: u32,
    /// Who may have changed it, where one is known who would.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl From<(u32, u32)> for PinnedChannels {
    fn from((wanted, combined): (u32, u32)) -> Self {
        Self { wanted, combined }
    }
}

/// What is known of where it is.
pub(super) fn of_locality(place: &Result<Locality, NotThere>) -> PinningNow {
    let unpinned = |why: String| PinningNow {
        unpinned: Some(why),
        ..PinningNow::default()
    };
    match place {
        Ok(Locality::Near(near)) => PinningNow {
            cpus: Some(near.cpus.clone()),
            ..PinningNow::default()
        },
        Ok(Locality::Everywhere) => PinningNow::default(),
        Ok(Locality::Unknown(why)) => unpinned(why.clone()),
        Err(error) => unpinned(error.to_string()),
    }
}

impl fmt::Display for PinningNow {
    /// In a few words: `pinned to CPUs 2-3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.unpinned, &self.cpus) {
            (Some(why), _) => write!(f, "unpinned ({why})")?,
            (None, Some(cpus)) => write!(f, "pinned to CPUs {cpus}")?,
            (None, None) => f.write_str("unpinned")?,
        }
        for left in &self.left {
            write!(f, ", left {left}")?;
        }
        if let Some(contested) = &self.contested {
            write!(f, ", {contested}")?;
        }
        Ok(())
    }
}

impl PinningNow {
    /// What a device's message has of it; empty where all is pinned, and stays so.
    pub fn words(&self) -> String {
        let unpinned = self.unpinned.as_ref();
        let unpinned = unpinned.map(|why| format!("nothing of it is pinned: {why}"));
        let contested = self.contested.as_ref().map(ToString::to_string);
        let words: Vec<String> = [unpinned, contested].into_iter().flatten().collect();
        words.join("; ")
    }
}

impl fmt::Display for Contested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "contested: set again {} times", self.times)?;
        match &self.by {
            Some(by) => write!(f, ", {by} runs"),
            None => Ok(()),
        }
    }
}
