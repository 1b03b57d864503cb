//! Who may be undoing what the agent set.
//!
//! The kernel says by whose port an address of IPv4, a route or a rule was removed, and of the rest nothing. So for the
//! rest there is a suspicion alone: the programs that hold a socket by which they could.

mod program;

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::process;
use std::time::Duration;

use device_attributes::DeviceIdentity;
use tokio::time::Instant;

use crate::listing::listing;
use crate::netlink::{Removal, Removed};
use crate::plan::{Action, Step};
use program::Program;

/// How many removals are remembered.
const REMOVALS: usize = 16;
/// For how long. What is removed again and again is so right after it was set again.
const RECENT: Duration = Duration::from_mins(1);

/// What is known of those who undo.
#[derive(Debug, Default)]
pub(crate) struct Foes {
    removals: VecDeque<Remembered>,
    /// Who may undo what the kernel says nothing of, in words, and the pass that looked.
    suspicion: Option<(Instant, String)>,
    /// What was said of a device, without and with those who were named: it stands as long as nothing else is said.
    named: BTreeMap<DeviceIdentity, (String, String)>,
}

#[derive(Debug)]
struct Remembered {
    removal: Removal,
    /// As it was then: it may have ended.
    by: Program,
    at: Instant,
}

impl Foes {
    /// Notes who removed something, as long as it can be seen.
    pub(crate) fn note(&mut self, proc: &Path, removal: Removal) {
        let at = Instant::now();
        let is_it = |known: &&mut Remembered| known.removal == removal;
        if let Some(known) = self.removals.iter_mut().find(is_it) {
            known.at = at;
        } else if removal.port.get() != process::id()
            && let Some(by) = Program::of_port(proc, removal.port.get())
        {
            self.removals.truncate(REMOVALS - 1);
            self.removals.push_front(Remembered { removal, by, at });
        }
    }

    /// Adds who may be undoing a device to `why` its `steps` wait. It is looked up once for each such word; `now` is that
    /// of the pass.
    pub(crate) fn name(
        &mut self,
        proc: &Path,
        device: &DeviceIdentity,
        why: String,
        steps: &[&Step],
        now: Instant,
    ) -> String {
        if let Some((_, named)) = self.named.get(device).filter(|(said, _)| *said == why) {
            return named.clone();
        }
        let named = [vec![why.clone()], self.look(proc, steps, now)]
            .concat()
            .join("; ");
        self.named.insert(device.clone(), (why, named.clone()));
        named
    }

    /// Keeps what is known of these devices only.
    pub(crate) fn retain(&mut self, is_wanted: impl Fn(&DeviceIdentity) -> bool) {
        self.named.retain(|device, _| is_wanted(device));
    }

    fn look(&mut self, proc: &Path, steps: &[&Step], now: Instant) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        let mut is_open = false;
        for step in steps.iter().filter(|step| is_heard(step)) {
            let recent = |it: &&Remembered| {
                it.is_undone_by(step) && now.saturating_duration_since(it.at) < RECENT
            };
            let mut removers = self.removals.iter().filter(recent).peekable();
            is_open |= removers.peek().is_none();
            for Remembered { removal, by, .. } in removers {
                let removed = format!(
                    "removed through the netlink port {}, that of {by}",
                    removal.port
                );
                if !words.contains(&removed) {
                    words.push(removed);
                }
            }
        }
        if is_open {
            let rest = if words.is_empty() { "" } else { " of the rest" };
            let suspicion = self.suspicion(proc, now);
            words.push(format!("the kernel does not say who{rest}; {suspicion}"));
        }
        words
    }

    /// Who holds a socket by which it could, in words; looked up once a pass.
    fn suspicion(&mut self, proc: &Path, now: Instant) -> &str {
        self.suspicion.take_if(|(at, _)| *at != now);
        let look = || (now, suspicion(Program::holders(proc, process::id())));
        let (_, words) = self.suspicion.get_or_insert_with(look);
        words
    }
}

impl Remembered {
    /// Whether the step brings back what was removed.
    fn is_undone_by(&self, step: &Step) -> bool {
        match (&step.action, self.removal.removed) {
            (Action::AddAddress { address }, Removed::Address(index, removed)) => {
                index == step.interface && *address == removed
            }
            (Action::AddRoute { .. }, Removed::Route(index)) => {
                index.is_none_or(|index| index == step.interface)
            }
            (Action::AddRule { .. }, Removed::Rule) => true,
            _ => false,
        }
    }
}

/// Whether what it brings back is undone by netlink.
fn is_heard(step: &Step) -> bool {
    !matches!(step.action, Action::SetSysctl { .. } | Action::Pin(_))
}

/// Who could, of those that hold a socket.
fn suspicion(holders: Option<Vec<Program>>) -> String {
    let Some(holders) = holders else {
        return "/proc does not show the agent who it may be".to_owned();
    };
    let names = listing(holders);
    if names.is_empty() {
        "no program that runs is known to hold a netlink socket for it: it may be one that ends at once, as ip in a script"
            .to_owned()
    } else {
        format!("it may be {names}, or one that ends at once, as ip in a script")
    }
}

#[cfg(test)]
mod tests;
