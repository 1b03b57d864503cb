//! Who may be undoing what the agent set.
//!
//! The kernel says by whose port an address of IPv4, a route or a rule was removed, and of the rest nothing. So for the
//! rest there is a suspicion alone: the programs that hold a socket by which they could.

mod program;

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;
use std::path::Path;
use std::process;
use std::time::Duration;

use device_attributes::DeviceIdentity;
use tokio::time::Instant;

use crate::listing::listing;
use crate::netlink::{Removal, Removed};
use crate::plan::{Action, Step};
use program::Program;

/// Of how many things it is remembered who removed them.
const REMOVALS: usize = 256;
/// How many programs are remembered that held a socket.
const SEEN: usize = 16;
/// For how long. What is removed again and again is so right after it was set again.
const RECENT: Duration = Duration::from_mins(1);

/// What is known of those who undo.
#[derive(Debug, Default)]
pub(crate) struct Foes {
    /// Who removed what the last time.
    removers: BTreeMap<Removed, Remover>,
    /// When something was undone the last time.
    undone: Option<Instant>,
    /// Who held a socket when something changed since.
    seen: Vec<(Program, Instant)>,
    /// Whether that was looked at since the last pass.
    has_glanced: bool,
    /// Who may undo what the kernel says nothing of, in words, and the pass that looked.
    suspicion: Option<(Instant, String)>,
    /// What was said of a device, without and with those who were named: it stands as long as nothing else is said.
    named: BTreeMap<DeviceIdentity, (String, String)>,
}

#[derive(Debug)]
struct Remover {
    /// The netlink port that the kernel told.
    port: NonZeroU32,
    /// As it was then: it may have ended.
    by: Program,
    at: Instant,
}

impl Foes {
    /// Notes who removed something, as long as it can be seen.
    pub(crate) fn note(&mut self, proc: &Path, removal: Removal) {
        let Removal { removed, port } = removal;
        let at = Instant::now();
        self.removers.retain(|_, remover| !is_past(remover.at, at));
        let is_full = self.removers.len() >= REMOVALS;
        match self.removers.get_mut(&removed) {
            Some(known) if known.port == port => known.at = at,
            None if is_full => {}
            _ if port.get() == process::id() => {}
            _ => {
                if let Some(by) = Program::of_port(proc, port.get()) {
                    self.removers.insert(removed, Remover { port, by, at });
                }
            }
        }
    }

    /// Notes that a pass found something undone.
    pub(crate) fn watch_out(&mut self, now: Instant) {
        self.undone = Some(now);
    }

    /// Notes that a pass begins.
    pub(crate) fn begin(&mut self) {
        self.has_glanced = false;
    }

    /// Looks who holds a socket right when something has changed, once between two passes, where something was undone
    /// before: a program of a script is gone when the pass has come so far.
    pub(crate) fn glance(&mut self, proc: &Path) {
        let now = Instant::now();
        let is_over = |undone| is_past(undone, now);
        if self.has_glanced || self.undone.is_none_or(is_over) {
            return;
        }
        self.has_glanced = true;
        self.seen.retain(|(_, at)| !is_past(*at, now));
        for program in Program::quick_holders(proc, process::id()) {
            self.seen.retain(|(seen, _)| !seen.is_like(&program));
            if self.seen.len() < SEEN {
                self.seen.push((program, now));
            }
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
        let mut named: Vec<&Remover> = Vec::new();
        let (mut lacks_address, mut others_are_open, mut routes_are_open) = (false, false, false);
        for step in steps.iter().filter(|step| is_heard(step)) {
            let remover = self.remover(step, now);
            match step.action {
                Action::AddRoute { .. } => routes_are_open |= remover.is_none(),
                _ => others_are_open |= remover.is_none(),
            }
            lacks_address |= remover.is_some() && matches!(step.action, Action::AddAddress { .. });
            // The programs of a script are one for whoever looks for it.
            named.extend(remover.filter(|it| !named.iter().any(|other| it.by.is_like(&other.by))));
        }
        let mut words: Vec<String> = named.iter().map(ToString::to_string).collect();
        // With an address the kernel takes away the routes that need it.
        if others_are_open || routes_are_open && !lacks_address {
            let rest = if words.is_empty() { "" } else { " of the rest" };
            let suspicion = self.suspicion(proc, now);
            words.push(format!("the kernel does not say who{rest}; {suspicion}"));
        }
        words
    }

    /// Who removed what the step brings back.
    fn remover(&self, step: &Step, now: Instant) -> Option<&Remover> {
        let by = |removed| self.removers.get(&removed);
        let remover = match step.action {
            Action::AddAddress { address } => by(Removed::Address(step.interface, address)),
            Action::AddRoute { .. } => {
                by(Removed::Route(Some(step.interface))).or_else(|| by(Removed::Route(None)))
            }
            Action::AddRule { .. } => by(Removed::Rule),
            _ => None,
        };
        remover.filter(|remover| !is_past(remover.at, now))
    }

    /// Who holds a socket by which it could, in words; looked up once a pass.
    fn suspicion(&mut self, proc: &Path, now: Instant) -> &str {
        self.suspicion.take_if(|(at, _)| *at != now);
        let look = || {
            let holders = Program::holders(proc, process::id());
            let seen = self.seen.iter().filter(|(_, at)| !is_past(*at, now));
            (now, suspicion(holders, seen.map(|(program, _)| program)))
        };
        let (_, words) = self.suspicion.get_or_insert_with(look);
        words
    }
}

impl fmt::Display for Remover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "removed through the netlink port {}, that of {}",
            self.port, self.by
        )
    }
}

/// Whether what it brings back is undone by netlink.
fn is_heard(step: &Step) -> bool {
    !matches!(step.action, Action::SetSysctl { .. } | Action::Pin(_))
}

/// Whether it is so long ago that somebody else may have done what is undone now.
fn is_past(at: Instant, now: Instant) -> bool {
    now.saturating_duration_since(at) >= RECENT
}

/// Who could, of those that hold a socket, and those that held one when something changed.
fn suspicion<'a>(holders: Option<Vec<Program>>, seen: impl Iterator<Item = &'a Program>) -> String {
    let Some(mut programs) = holders else {
        return "/proc does not show the agent who it may be".to_owned();
    };
    for program in seen {
        if !programs.iter().any(|holder| holder.is_like(program)) {
            programs.push(program.clone());
        }
    }
    let names = listing(programs);
    if names.is_empty() {
        "no program is known to hold a netlink socket for it: it may be one that ends at once, as ip in a script"
            .to_owned()
    } else {
        format!("it may be {names}, or one that ends at once, as ip in a script")
    }
}

#[cfg(test)]
mod tests;
