//! What the agent changed, thing by thing: how each was before the agent, and how the agent left it.

use std::collections::BTreeMap;

use device_attributes::InterfaceAddress;
use serde::{Deserialize, Serialize};

use crate::observe::{About, IPV6_LEAST_MTU};
use crate::plan::{Action, PinSubject, Step, Sysctl};
use crate::routing::{Route, RoutingRule};

/// Something of the kernel's that a step changes. Steps that change the same thing follow one
/// another: the first knows how it was before, the last how it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Thing {
    /// An interface's name.
    Name(u32),
    /// Whether an interface has an alternative name.
    AlternativeName(u32, String),
    /// An interface's MAC address.
    MacAddress(u32),
    /// An interface's MTU.
    Mtu(u32),
    /// A sysctl of an interface.
    Sysctl(u32, Sysctl),
    /// Whether an interface is up.
    Up(u32),
    /// Whether an interface has an address.
    Address(u32, InterfaceAddress),
    /// Whether there is a route, made for an interface.
    Route(u32, Route),
    /// Whether there is a policy rule, made for an interface.
    Rule(u32, RoutingRule),
    /// What serves an interface, or a device that has none: that is of index 0.
    Pin(u32, PinSubject),
}

impl Thing {
    /// What a step changes.
    pub fn of(step: &Step) -> Self {
        let interface = step.interface;
        match &step.action {
            Action::Rename { .. } => Self::Name(interface),
            Action::AddAlternativeName { alternative }
            | Action::RemoveAlternativeName { alternative } => {
                Self::AlternativeName(interface, alternative.clone())
            }
            Action::SetMacAddress { .. } => Self::MacAddress(interface),
            Action::SetMtu { .. } => Self::Mtu(interface),
            Action::SetSysctl { sysctl, .. } => Self::Sysctl(interface, *sysctl),
            Action::SetUp(_) => Self::Up(interface),
            Action::AddAddress { address } | Action::RemoveAddress { address } => {
                Self::Address(interface, *address)
            }
            Action::AddRoute { route } | Action::RemoveRoute { route } => {
                Self::Route(interface, route.clone())
            }
            Action::AddRule { rule } | Action::RemoveRule { rule } => {
                Self::Rule(interface, rule.clone())
            }
            Action::Pin(pin) => Self::Pin(interface, pin.subject()),
        }
    }
}

impl Thing {
    /// The index of the interface whose it is.
    pub fn interface(&self) -> u32 {
        match self {
            Self::Name(index)
            | Self::AlternativeName(index, _)
            | Self::MacAddress(index)
            | Self::Mtu(index)
            | Self::Sysctl(index, _)
            | Self::Up(index)
            | Self::Address(index, _)
            | Self::Route(index, _)
            | Self::Rule(index, _)
            | Self::Pin(index, _) => *index,
        }
    }
}

/// The steps that changed one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The thing.
    pub thing: Thing,
    /// The first step: how it was before.
    pub first: Step,
    /// The others.
    later: Vec<Step>,
}

impl Entry {
    /// Whether the last step, once made, brings the thing back to what it was before the first.
    pub(super) fn is_back(&self) -> bool {
        match (&self.first.action, &self.last().action) {
            (Action::Rename { .. }, Action::Rename { to }) => *to == self.first.name,
            (Action::SetMtu { from, .. }, Action::SetMtu { to, .. })
            | (Action::SetSysctl { from, .. }, Action::SetSysctl { to, .. }) => from == to,
            (Action::SetMacAddress { from, .. }, Action::SetMacAddress { to, .. }) => from == to,
            (Action::AddAlternativeName { .. }, Action::RemoveAlternativeName { .. })
            | (Action::RemoveAlternativeName { .. }, Action::AddAlternativeName { .. })
            | (Action::AddAddress { .. }, Action::RemoveAddress { .. })
            | (Action::AddRoute { .. }, Action::RemoveRoute { .. })
            | (Action::AddRule { .. }, Action::RemoveRule { .. }) => true,
            _ => false,
        }
    }

    /// Its steps, newest first.
    pub(super) fn steps_back(&self) -> impl Iterator<Item = &Step> {
        self.later.iter().rev().chain([&self.first])
    }

    /// The last step, which may not have been made: how it is now, or was just before.
    pub fn last(&self) -> &Step {
        self.later.last().unwrap_or(&self.first)
    }
}

/// Everything that was changed: the entries of each interface, in the order of their first change.
/// Written as the steps of which it can be made again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Step>", into = "Vec<Step>")]
pub struct Ledger(BTreeMap<u32, Vec<Entry>>);

/// How many later steps are kept. Only the last counts, and those that it leaves when it is
/// retracted: no transaction changes a thing more often than by way of a temporary name.
const LATER: usize = 4;

impl From<Vec<Step>> for Ledger {
    fn from(steps: Vec<Step>) -> Self {
        let mut ledger = Self::default();
        for step in &steps {
            ledger.begin(step);
        }
        ledger
    }
}

impl From<Ledger> for Vec<Step> {
    fn from(ledger: Ledger) -> Self {
        ledger.steps().cloned().collect()
    }
}

impl Ledger {
    /// The entries of one interface, oldest first.
    pub fn of_interface(&self, index: u32) -> &[Entry] {
        self.0.get(&index).map_or(&[], Vec::as_slice)
    }

    /// The interfaces of which something was changed, by index.
    pub fn interfaces(&self) -> impl Iterator<Item = u32> {
        self.0.keys().copied()
    }

    /// What is known of one thing.
    pub(super) fn entry(&self, thing: &Thing) -> Option<&Entry> {
        let mut entries = self.of_interface(thing.interface()).iter();
        entries.find(|entry| entry.thing == *thing)
    }

    /// The entries of each interface, oldest first.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.0.values().flatten()
    }

    /// The devices whose interrupts and queues must be looked at to tell how they are now.
    pub fn pinned(&self) -> Vec<About> {
        let pins = self
            .entries()
            .filter_map(|entry| match &entry.first.action {
                Action::Pin(pin) => Some((entry.first.interface, pin.function())),
                _ => None,
            });
        pins.flat_map(|(interface, function)| {
            let interface = (interface != 0).then_some(About::Interface(interface));
            [interface, function.map(About::Function)]
        })
        .flatten()
        .collect()
    }

    /// The interfaces whose MTU was too small for IPv6: it may be put back.
    pub fn without_ipv6(&self) -> impl Iterator<Item = About> {
        let entries = self.entries().filter(|entry| {
            matches!(entry.first.action, Action::SetMtu { from, .. } if from < IPV6_LEAST_MTU)
        });
        entries.map(|entry| About::Interface(entry.first.interface))
    }

    /// Whether nothing was changed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn begin(&mut self, step: &Step) {
        let thing = Thing::of(step);
        let entries = self.0.entry(step.interface).or_default();
        match entries.iter_mut().find(|entry| entry.thing == thing) {
            None => entries.push(Entry {
                thing,
                first: step.clone(),
                later: Vec::new(),
            }),
            Some(entry) => {
                entry.later.push(step.clone());
                if entry.later.len() > LATER {
                    entry.later.remove(0);
                }
            }
        }
    }

    pub(super) fn retract(&mut self, step: &Step) {
        let thing = Thing::of(step);
        let entries = self.0.entry(step.interface).or_default();
        let position = entries.iter().position(|entry| entry.thing == thing);
        if let Some(position) = position
            && let Some(entry) = entries.get_mut(position)
            && entry.last() == step
            && entry.later.pop().is_none()
        {
            entries.remove(position);
        }
        if entries.is_empty() {
            self.0.remove(&step.interface);
        }
    }

    pub(super) fn retain(&mut self, mut keep: impl FnMut(&Thing) -> bool) {
        for entries in self.0.values_mut() {
            entries.retain(|entry| keep(&entry.thing));
        }
        self.0.retain(|_, entries| !entries.is_empty());
    }

    /// The steps of which the same ledger can be made.
    pub(crate) fn steps(&self) -> impl Iterator<Item = &Step> {
        self.entries()
            .flat_map(|entry| [&entry.first].into_iter().chain(&entry.later))
    }

    pub(super) fn lines(&self) -> usize {
        self.steps().count()
    }
}
