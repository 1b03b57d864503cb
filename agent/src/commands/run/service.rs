//! What the service knows between two passes, and what it does in one turn.

mod look;

use std::path::PathBuf;
use std::time::Duration;

use sd_notify::NotifyState;
use tokio::sync::watch;
use tokio::time::Instant;

use look::Look;

use super::hindrance::Hindrance;
use super::notify;
use super::reader::Reader;
use crate::commands::{connect, load_policy};
use crate::concern::Concern;
use crate::exit::Ended;
use crate::extent::Extent;
use crate::log;
use crate::memory::Memory;
use crate::netlink::{Change, Netlink, Removal};
use crate::numa::Lookout;
use crate::pipeline;
use crate::policy::Policy;
use crate::report::relay::Account;
use crate::report::{DeviceStatus, Status};
use crate::roots::Roots;
use crate::small_file::Closing;
use crate::source::{self, Loaded};

/// What the service knows between two passes.
pub(super) struct Service<'a> {
    roots: &'a Roots,
    /// What looks at the source.
    reader: Reader,
    policy: Policy,
    /// Whether no pass was made with it yet.
    is_policy_new: bool,
    /// Why the policy that was to replace it cannot be used.
    policy_problem: Option<String>,
    netlink: Netlink,
    /// Where those came from that an agent before this one applied.
    standing: Option<PathBuf>,
    /// The last attributes that could be used.
    loaded: Option<Loaded>,
    /// What the last pass that could be made found.
    passed: Option<Status>,
    /// What it leaves to the next.
    memory: Memory,
    /// The interfaces that it was about.
    concern: Concern,
    /// What tells that CPUs or memory came or went.
    lookout: Lookout,
    /// Whether it left nothing under way in the kernel.
    settled: bool,
    /// Whether it left steps to the next, which is to follow at once.
    goes_on: bool,
    /// Why a later pass could not be made.
    hindrance: Option<Hindrance>,
    /// The last status that was told.
    told: Option<Status>,
    /// Why it is not in its file.
    unwritten: Option<String>,
}

impl<'a> Service<'a> {
    /// Nothing is applied yet.
    pub(super) fn new(roots: &'a Roots, reader: Reader) -> Result<Self, Ended> {
        Ok(Self {
            roots,
            reader,
            policy: load_policy(roots)?,
            is_policy_new: false,
            policy_problem: None,
            netlink: connect()?,
            standing: source::standing::source(roots),
            loaded: None,
            passed: None,
            memory: Memory::default(),
            concern: Concern::default(),
            lookout: Lookout::new(&roots.sys),
            settled: true,
            goes_on: false,
            hindrance: None,
            told: None,
            unwritten: None,
        })
    }
}

impl Service<'_> {
    /// Whether what the kernel announces is the reason for another pass. Who it may come from is noted at once: it may
    /// end soon.
    pub(super) fn hear(&mut self, change: Change, removal: Option<Removal>) -> bool {
        let is_concerned = self.concern.is(change);
        if is_concerned {
            self.memory.note_change(self.roots, removal);
        }
        is_concerned
    }

    /// Whether another turn is to follow at once.
    pub(super) fn goes_on(&self) -> bool {
        self.goes_on
    }

    /// When another turn is to follow for an interface that somebody has set down.
    pub(super) fn moment_over(&self, now: Instant) -> Option<Instant> {
        self.memory.moment_over(now)
    }

    /// Looks at the source, makes a pass where one is due, and writes the status; true when it is
    /// another one.
    pub(super) async fn turn(&mut self, retry: bool, changed: bool) -> bool {
        let look = self.look().await;
        let _closing = Closing::begin();
        let moved = self.lookout.has_changed();
        if look == Look::News || changed || moved || retry && self.is_pass_due() {
            self.pass().await;
        }
        let status = self.status(look);
        let is_new = self.told.as_ref() != Some(&status);
        if is_new || self.unwritten.is_some() {
            self.write(&status);
        }
        self.told = Some(status);
        is_new
    }

    fn is_pass_due(&self) -> bool {
        let all_ready = |status: &Status| status.devices.iter().all(|device| device.report.ready);
        let is_ready = self.passed.as_ref().is_some_and(all_ready);
        let is_found = |status: &Status| status.devices.iter().any(DeviceStatus::is_found);
        // Nobody announces that interrupts and queues were moved, that a sysctl was set, nor that a device is of
        // another node.
        let is_watching = self.memory.is_silent
            || self.lookout.has_distance() && self.passed.as_ref().is_some_and(is_found);
        let is_open = !is_ready || !self.settled || self.hindrance.is_some() || is_watching;
        self.loaded.is_some() && (is_open || self.is_policy_new)
    }

    async fn pass(&mut self) {
        let Some(loaded) = &self.loaded else { return };
        let (policy, reading) = (&self.policy, &loaded.reading);
        // Nothing waits for duplicate address detection: it is looked at again.
        let patience = Duration::ZERO;
        // Until something was told, systemd holds up what comes after this service.
        let extent = if self.told.is_none() {
            Extent::Beginning
        } else {
            Extent::Whole
        };
        match pipeline::pass(
            &self.netlink,
            self.roots,
            policy,
            reading,
            &mut self.memory,
            patience,
            extent,
        )
        .await
        {
            Ok(passed) => {
                let (path, digest) = (loaded.path.clone(), loaded.digest.clone());
                self.passed = Some(Status::of_devices(
                    path,
                    digest,
                    passed.devices,
                    passed.ready,
                ));
                self.settled = passed.settled;
                self.goes_on = passed.goes_on;
                self.concern = passed.concern;
                self.hindrance = None;
                self.is_policy_new = false;
            }
            Err(ended) => {
                self.goes_on = false;
                self.hindrance = Some(Hindrance::next(
                    self.hindrance.as_ref(),
                    ended.message,
                    Instant::now(),
                ));
                // It may be the connection; where there is no other, the next pass says so.
                if let Ok(netlink) = connect() {
                    self.netlink = netlink;
                }
            }
        }
    }

    fn status(&self, look: Look) -> Status {
        let empty = || Status {
            source: self.standing.clone(),
            ..Status::without_attributes(String::new())
        };
        let mut status = self.passed.clone().unwrap_or_else(empty);
        if let Some(loaded) = &self.loaded {
            status.source = Some(loaded.path.clone());
            status.document_digest = Some(loaded.digest.clone());
        }
        let is_unknown = |hindrance: &Hindrance| hindrance.outweighs(Instant::now());
        status.ready &= !self.hindrance.as_ref().is_some_and(is_unknown);
        status.problem = match look {
            Look::Problem(problem) => Some(problem),
            Look::News | Look::Nothing => {
                let hindrance = self.hindrance.as_ref().map(|it| &it.message);
                hindrance.or(self.policy_problem.as_ref()).cloned()
            }
        };
        status
    }

    /// Reads the policy again. As a file of attributes that breaks, one with a mistake does not take
    /// back what was applied: the last good one stays in force.
    pub(super) fn reload(&mut self) {
        match load_policy(self.roots) {
            Ok(policy) => {
                tracing::info!("the policy was read again");
                self.policy = policy;
                self.is_policy_new = true;
                self.policy_problem = None;
            }
            Err(ended) => {
                tracing::error!("{}", ended.message);
                let message = format!("the policy of before is in force: {}", ended.message);
                self.policy_problem = Some(message);
            }
        }
    }

    /// A full `/run` keeps no device from being configured; the file is tried again at each turn.
    fn write(&mut self, status: &Status) {
        let unwritten = status
            .write(self.roots)
            .err()
            .map(|error| error.to_string());
        if let Some(error) = &unwritten
            && self.unwritten != unwritten
        {
            tracing::error!("{error}");
        }
        self.unwritten = unwritten;
    }

    /// Tells systemd, the journal and the relay.
    pub(super) fn tell(&self, account: &watch::Sender<Account>) {
        let Some(status) = &self.told else { return };
        let text = status.to_string();
        let is_trouble = !status.ready && status.document_digest.is_some();
        log::together(|| {
            for line in text.lines() {
                if is_trouble {
                    tracing::warn!("{line}");
                } else {
                    tracing::info!("{line}");
                }
            }
        });
        let first_line = text.lines().next().unwrap_or_default();
        // Ready means that the first pass is over: a device that is late, or not required, must not hold up the boot.
        notify(&[NotifyState::Ready, NotifyState::Status(first_line)]);
        account.send_if_modified(|account| {
            let now = Account {
                document_digest: status.document_digest.clone(),
                devices: status.reports(),
            };
            let changed = *account != now;
            *account = now;
            changed
        });
    }
}
