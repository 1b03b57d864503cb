//! `run`: the service. Applies, notifies systemd, keeps watching.

use std::time::Duration;

use sd_notify::NotifyState;
use tokio::sync::watch;
use tokio::time::sleep;

use super::apply::{POLL, tell_notes};
use super::{connect, load_policy};
use crate::end_signal::EndSignal;
use crate::exit::{Ended, Exit};
use crate::netlink::Netlink;
use crate::pipeline;
use crate::policy::Policy;
use crate::report::Status;
use crate::report::relay::{Account, keep_reporting};
use crate::roots::Roots;
use crate::source::{self, LoadError, Loaded, Places};

/// The longest time between two passes while something is not ready and nothing changes.
const RETRY_MOST: Duration = Duration::from_secs(30);

pub(super) async fn run(roots: &Roots, places: &Places) -> Result<Exit, Ended> {
    let mut service = Service {
        roots,
        policy: load_policy(roots)?,
        netlink: connect()?,
        loaded: None,
        status: None,
    };
    let end = EndSignal::new()?;
    let (account, reported) = watch::channel(Account::default());
    let proc = roots.proc.clone();
    let reporting = tokio::spawn(async move { keep_reporting(&proc, reported).await });

    let mut pause = POLL;
    let mut until_retry = Duration::ZERO;
    loop {
        if service.turn(places, until_retry.is_zero()).await? {
            service.tell(&account);
            pause = POLL;
            until_retry = pause;
        } else if until_retry.is_zero() {
            pause = (pause * 2).min(RETRY_MOST);
            until_retry = pause;
        }
        tokio::select! {
            () = sleep(POLL) => {}
            () = end.arrived() => break,
        }
        until_retry = until_retry.saturating_sub(POLL);
    }
    notify(&[NotifyState::Stopping]);
    reporting.abort();
    Ok(Exit::Done)
}

/// What a look at the source says.
#[derive(Debug, PartialEq, Eq)]
enum Look {
    /// Other attributes than before.
    News,
    /// What it said before.
    Nothing,
    /// There are none, or they cannot be used.
    Problem(String),
}

/// What the service knows between two passes.
struct Service<'a> {
    roots: &'a Roots,
    policy: Policy,
    netlink: Netlink,
    /// The last attributes that could be used.
    loaded: Option<Loaded>,
    /// The last status that was written.
    status: Option<Status>,
}

impl Service<'_> {
    /// Looks at the source, makes a pass where one is due, and writes the status where it is
    /// another one; true then.
    async fn turn(&mut self, places: &Places, retry: bool) -> Result<bool, Ended> {
        let look = self.look(places);
        let status = match (&self.loaded, look) {
            (None, Look::Problem(problem)) => Status::without_attributes(problem),
            (None, _) => return Ok(false),
            (Some(loaded), look) => {
                let mut status = match &self.status {
                    Some(last) if look != Look::News && (last.ready || !retry) => last.clone(),
                    _ => self.pass(loaded).await?,
                };
                status.problem = match look {
                    Look::Problem(problem) => Some(problem),
                    Look::News | Look::Nothing => None,
                };
                status
            }
        };
        if self.status.as_ref() == Some(&status) {
            return Ok(false);
        }
        status.write(self.roots).map_err(Ended::failed)?;
        self.status = Some(status);
        Ok(true)
    }

    /// A file that goes away or breaks does not take back what was applied: the last good one
    /// stays in force.
    fn look(&mut self, places: &Places) -> Look {
        match source::load(self.roots, places) {
            Ok(loaded) => {
                let known = self
                    .loaded
                    .as_ref()
                    .is_some_and(|last| last.digest == loaded.digest && last.path == loaded.path);
                if known {
                    return Look::Nothing;
                }
                tracing::info!("attributes from {}", loaded.path.display());
                tell_notes(&loaded);
                self.loaded = Some(loaded);
                Look::News
            }
            Err(LoadError::NotYet(_)) if self.loaded.is_some() => Look::Nothing,
            Err(error) => Look::Problem(error.to_string()),
        }
    }

    async fn pass(&self, loaded: &Loaded) -> Result<Status, Ended> {
        let devices =
            pipeline::pass(&self.netlink, self.roots, &self.policy, &loaded.reading).await?;
        let (path, digest) = (loaded.path.clone(), loaded.digest.clone());
        Ok(Status::of_devices(path, digest, devices))
    }

    /// Tells systemd, the journal and the relay.
    fn tell(&self, account: &watch::Sender<Account>) {
        let Some(status) = &self.status else { return };
        let text = status.to_string();
        for line in text.lines() {
            tracing::info!("{line}");
        }
        let first_line = text.lines().next().unwrap_or_default();
        // Ready means that the first pass is over: a device that is late must not hold up the boot.
        notify(&[NotifyState::Ready, NotifyState::Status(first_line)]);
        account.send_if_modified(|account| {
            let now = Account {
                document_digest: status.document_digest.clone(),
                devices: status.devices.clone(),
            };
            let changed = *account != now;
            *account = now;
            changed
        });
    }
}

fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!("systemd was not notified: {error}");
    }
}
