//! `run`: the service. Applies, notifies systemd, keeps watching.

mod hindrance;
mod reader;
mod service;

use std::time::Duration;

use sd_notify::NotifyState;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use reader::Reader;
use service::Service;

use super::apply::POLL;
use crate::exit::{Ended, Exit};
use crate::lock::{Lock, LockError};
use crate::netlink::Watch;
use crate::pace::Pace;
use crate::report::relay::{self, Account, keep_reporting};
use crate::roots::Roots;
use crate::signals::{Signals, Wish};
use crate::source::Places;

/// How many passes may follow one another at once on what the kernel announces, and how often there is
/// one when it never ends.
const PASSES: u32 = 10;
const PASS_EVERY: Duration = Duration::from_secs(1);

/// The longest time between two passes while something is not ready and nothing changes.
const RETRY_MOST: Duration = Duration::from_secs(30);

pub(super) async fn run(roots: &Roots, places: &Places) -> Result<Exit, Ended> {
    // Blocked for the reader's thread as well, which would end the process by one.
    let signals = Signals::new()?;
    let reader = Reader::start(roots, places)?;
    let _lock = match Lock::for_service(roots, true).await {
        Ok(lock) => Some(lock),
        Err(error @ LockError::Held(_)) => return Err(Ended::failed(error)),
        Err(error) => {
            tracing::warn!("{error}");
            None
        }
    };
    let mut service = Service::new(roots, reader)?;
    // Before the first look, so that nothing is missed after it.
    let mut announcements = Watch::open().map_err(Ended::failed)?;
    let (account, reported) = watch::channel(Account::default());
    let boot_id = relay::boot_id(&roots.proc);
    let reporting =
        tokio::spawn(async move { keep_reporting(relay::vsock, &boot_id, reported).await });

    let mut pace = Pace::new(PASSES, PASS_EVERY);
    let mut pause = POLL;
    let mut retry_at = Instant::now();
    // Whether something was announced that no pass has answered yet.
    let mut changed = false;
    loop {
        let retry = Instant::now() >= retry_at;
        let answer = changed && Instant::now() >= pace.next();
        if answer {
            pace.take();
            changed = false;
        }
        if service.turn(retry, answer).await {
            service.tell(&account);
            pause = POLL;
            let now = Instant::now();
            retry_at = if service.goes_on() { now } else { now + pause };
        } else if retry {
            pause = (pause * 2).min(RETRY_MOST);
            retry_at = Instant::now() + pause;
        }
        let now = Instant::now();
        retry_at = (service.moment_over(now)).map_or(retry_at, |over| retry_at.min(over));
        let may_pass = pace.next();
        let wake = if changed {
            may_pass.max(now)
        } else {
            retry_at.min(now + POLL)
        };
        tokio::select! {
            () = sleep_until(wake) => {}
            heard = announcements.heard(|change, removal| service.hear(change, removal)), if !changed => {
                heard.map_err(|error| {
                    Ended::failed(format!("cannot hear what changes by netlink: {error}"))
                })?;
                changed = true;
            }
            wish = signals.next() => match wish {
                Wish::End => break,
                Wish::Reload => {
                    service.reload();
                    retry_at = now;
                }
            },
        }
    }
    notify(&[NotifyState::Stopping]);
    reporting.abort();
    Ok(Exit::Done)
}

fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!("systemd was not notified: {error}");
    }
}
