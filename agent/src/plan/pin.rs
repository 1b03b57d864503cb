//! One change of what serves a device: its interrupts and its queues.

use device_attributes::PciAddress;
use serde::{Deserialize, Serialize};

use crate::numa::CpuList;

/// One change of what serves a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum Pin {
    /// How many combined channels the interface has.
    Channels {
        /// Before, for undoing it.
        from: u32,
        /// After.
        to: u32,
    },
    /// Whether irqbalance leaves interrupts alone.
    Irqbalance {
        /// The function whose interrupts they are.
        function: PciAddress,
        /// Their numbers.
        interrupts: Vec<u32>,
        /// Whether it does, after.
        leaves: bool,
    },
    /// The CPUs that may serve an interrupt.
    Interrupt {
        /// The function whose interrupt it is.
        function: PciAddress,
        /// Its number.
        interrupt: u32,
        /// Before, for undoing it.
        from: CpuList,
        /// After.
        to: CpuList,
    },
    /// The CPUs that send by a queue (`xps_cpus`).
    Transmit {
        /// The queue.
        queue: u32,
        /// Before, for undoing it.
        from: CpuList,
        /// After.
        to: CpuList,
    },
    /// The CPUs that what a queue receives is handed to (`rps_cpus`).
    Receive {
        /// The queue.
        queue: u32,
        /// Before, for undoing it.
        from: CpuList,
        /// After.
        to: CpuList,
    },
    /// How many flows a queue to receive follows (`rps_flow_cnt`).
    Flows {
        /// The queue.
        queue: u32,
        /// Before, for undoing it.
        from: u32,
        /// After.
        to: u32,
    },
}

/// What a [`Pin`] is of: those of one subject follow one another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PinSubject {
    /// The number of channels.
    Channels,
    /// irqbalance's word on these interrupts.
    Irqbalance(PciAddress, Vec<u32>),
    /// An interrupt.
    Interrupt(PciAddress, u32),
    /// A queue to send.
    Transmit(u32),
    /// A queue to receive.
    Receive(u32),
    /// The flows of a queue to receive.
    Flows(u32),
}

impl Pin {
    /// What it is of.
    pub fn subject(&self) -> PinSubject {
        match self {
            Self::Channels { .. } => PinSubject::Channels,
            Self::Irqbalance {
                function,
                interrupts,
                ..
            } => PinSubject::Irqbalance(*function, interrupts.clone()),
            Self::Interrupt {
                function,
                interrupt,
                ..
            } => PinSubject::Interrupt(*function, *interrupt),
            Self::Transmit { queue, .. } => PinSubject::Transmit(*queue),
            Self::Receive { queue, .. } => PinSubject::Receive(*queue),
            Self::Flows { queue, .. } => PinSubject::Flows(*queue),
        }
    }

    /// The function that it names.
    pub fn function(&self) -> Option<PciAddress> {
        match self {
            Self::Irqbalance { function, .. } | Self::Interrupt { function, .. } => Some(*function),
            _ => None,
        }
    }

    /// What takes it back.
    #[must_use]
    pub fn reversed(&self) -> Self {
        let mut reversed = self.clone();
        match &mut reversed {
            Self::Channels { from, to } | Self::Flows { from, to, .. } => std::mem::swap(from, to),
            Self::Interrupt { from, to, .. }
            | Self::Transmit { from, to, .. }
            | Self::Receive { from, to, .. } => std::mem::swap(from, to),
            Self::Irqbalance { leaves, .. } => *leaves = !*leaves,
        }
        reversed
    }

    /// What takes it back after later ones of the same subject, of which `last` was the last.
    #[must_use]
    pub fn reversed_after(&self, last: &Self) -> Self {
        let mut reversed = self.reversed();
        match (&mut reversed, last) {
            (Self::Channels { from, .. }, Self::Channels { to, .. })
            | (Self::Flows { from, .. }, Self::Flows { to, .. }) => *from = *to,
            (Self::Interrupt { from, .. }, Self::Interrupt { to, .. })
            | (Self::Transmit { from, .. }, Self::Transmit { to, .. })
            | (Self::Receive { from, .. }, Self::Receive { to, .. }) => from.clone_from(to),
            _ => {}
        }
        reversed
    }

    /// Whether the device's interrupts are others after it.
    pub fn renews_interrupts(&self) -> bool {
        matches!(self, Self::Channels { .. })
    }

    /// What is done to the device of this name, in words.
    pub fn words(&self, name: &str) -> String {
        match self.values() {
            Some((from, to)) => format!("set {} from {from} to {to}", self.what(name)),
            None => self.words_to_irqbalance(name, ""),
        }
    }

    /// What is done when it takes another back, in words.
    pub fn words_back(&self, name: &str) -> String {
        match self.values() {
            Some((_, to)) => format!("set {} back to {to}", self.what(name)),
            None => self.words_to_irqbalance(name, " again"),
        }
    }

    fn words_to_irqbalance(&self, name: &str, again: &str) -> String {
        let what = self.what(name);
        match self {
            Self::Irqbalance { leaves: true, .. } => {
                format!("have irqbalance leave {what} alone{again}")
            }
            _ => format!("let irqbalance move {what}{again}"),
        }
    }

    /// What changes, in words: "the CPUs of interrupt 42 of net1".
    pub fn what(&self, name: &str) -> String {
        match self {
            Self::Channels { .. } => format!("the combined channels of {name}"),
            Self::Irqbalance { interrupts, .. } => {
                format!("interrupts {} of {name}", ranges(interrupts))
            }
            Self::Interrupt { interrupt, .. } => {
                format!("the CPUs of interrupt {interrupt} of {name}")
            }
            Self::Transmit { queue, .. } => {
                format!("the CPUs that send by queue {queue} of {name}")
            }
            Self::Receive { queue, .. } => {
                format!("the CPUs that receive from queue {queue} of {name}")
            }
            Self::Flows { queue, .. } => format!("the flows of receive queue {queue} of {name}"),
        }
    }

    /// What it was before and after, in words; none of what has no values.
    pub fn values(&self) -> Option<(String, String)> {
        match self {
            Self::Channels { from, to } | Self::Flows { from, to, .. } => {
                Some((from.to_string(), to.to_string()))
            }
            Self::Interrupt { from, to, .. }
            | Self::Transmit { from, to, .. }
            | Self::Receive { from, to, .. } => Some((cpus(from), cpus(to))),
            Self::Irqbalance { .. } => None,
        }
    }
}

/// A list of CPUs in a sentence.
pub(crate) fn cpus(list: &CpuList) -> String {
    if list.is_empty() {
        "none".to_owned()
    } else {
        list.to_string()
    }
}

/// Numbers of interrupts in a sentence: `42-50,60`.
pub(crate) fn ranges(numbers: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*number) => *last = *number,
            _ => ranges.push((*number, *number)),
        }
    }
    let ranges = ranges.into_iter().map(|(first, last)| match first {
        _ if first == last => first.to_string(),
        _ => format!("{first}-{last}"),
    });
    ranges.collect::<Vec<_>>().join(",")
}
