//! The task of one guest: its newest connection, its account, its silence.
//!
//! Every guest has its own task, its own bounds and its own pace; what one does delays only itself.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use device_attributes::limits::LINE_BYTES;
use device_attributes::report::{HEARTBEAT_SECONDS, RelayMessage};
use tokio::time::{Instant, sleep_until};
use tracing::{debug, info, warn};

use crate::account::Account;
use crate::configuration::Guest;
use crate::connection::{Closed, Connection, Stream};
use crate::mailbox::Mailbox;
use crate::message::{Line, parse};
use crate::monitoring::labels::{Bound, ReportOutcome};
use crate::monitoring::metrics::{self, Counted};
use crate::plain_text::plain;
use crate::presence::Presence;
use crate::rate::Rate;
use crate::store::{ClaimName, ClaimStore, StoreError};

/// Where a guest's connections arrive.
pub type Connections = Mailbox<Box<dyn Stream>>;

/// In the long run a line each so often, and [`BURST`] at once. An agent says something every ten seconds.
const LINE_INTERVAL: Duration = Duration::from_millis(100);
/// So many lines may come at once.
const BURST: u32 = 100;
/// A new connection costs as much as so many lines.
const CONNECTION_COST: u32 = 10;
/// The most bytes of problems in one line of the log.
const LOG_BYTES: usize = 1024;
/// The most bytes of problems in one answer, so that it stays far below [`LINE_BYTES`].
const PROBLEMS_BYTES: usize = LINE_BYTES / 4;

/// Serves a guest for as long as the relay runs.
pub async fn serve<S: ClaimStore>(
    guest: Guest,
    connections: Arc<Connections>,
    store: Arc<S>,
    lost_after: Duration,
) {
    let _known = metrics::known_guest();
    let now = Instant::now();
    let mut state = State {
        cid: guest.cid,
        account: Account::new(&guest.claims),
        store,
        lost_after,
        presence: Presence::new(lost_after),
        silent: None,
        last_failure: BTreeMap::new(),
    };
    let mut rate = Rate::new(LINE_INTERVAL, BURST);
    let refresh = lost_after.min(Duration::from_secs(HEARTBEAT_SECONDS));
    let mut next_refresh = now + refresh;
    let mut current: Option<Connection> = None;
    loop {
        tokio::select! {
            // In this order: no flood of connections hides a guest's silence, and a newer connection
            // counts before any line of the older one.
            biased;
            () = sleep_until(state.wakes_at(next_refresh)) => {
                state.watch(&mut next_refresh, refresh).await;
            }
            stream = connections.take() => {
                if current.replace(Connection::new(stream)).is_some() {
                    info!(cid = guest.cid, "a newer connection takes the place of the older");
                } else {
                    debug!(cid = guest.cid, "connected");
                }
                sleep_until(rate.take(CONNECTION_COST)).await;
            }
            line = next_line(&mut current) => {
                let ended = match line {
                    Ok((connection, line)) => {
                        sleep_until(rate.take(1)).await;
                        state.hear(connection, &line).await
                    }
                    Err(closed) => Err(closed.into()),
                };
                if let Err(ended) = ended {
                    current = None;
                    ended.bound().into_iter().for_each(metrics::line_refused);
                    match ended {
                        Ended::Closed(Closed::ByGuest) => info!(cid = guest.cid, "the guest closed the connection"),
                        ended => warn!(cid = guest.cid, "connection closed: {ended}"),
                    }
                }
            }
        }
    }
}

/// Waits for ever while there is no connection.
async fn next_line(current: &mut Option<Connection>) -> Result<(&mut Connection, Vec<u8>), Closed> {
    match current {
        Some(connection) => {
            let line = connection.next_line().await?;
            Ok((connection, line))
        }
        None => std::future::pending().await,
    }
}

/// Why a connection is given up.
#[derive(Debug, thiserror::Error)]
enum Ended {
    #[error(transparent)]
    Closed(#[from] Closed),
    #[error("a line is not of the protocol: {0}")]
    NotOfTheProtocol(String),
    #[error("the first line is no hello")]
    NoHello,
}

impl Ended {
    /// The bound that the guest did not keep, if it is that.
    fn bound(&self) -> Option<Bound> {
        match self {
            Self::Closed(closed) => closed.bound(),
            Self::NotOfTheProtocol(_) => Some(Bound::Protocol),
            Self::NoHello => Some(Bound::FirstLine),
        }
    }
}

struct State<S> {
    cid: u32,
    account: Account,
    store: Arc<S>,
    lost_after: Duration,
    presence: Presence,
    /// While nothing is heard of the agent.
    silent: Option<Counted>,
    /// What was last logged of a claim, so that a lasting failure is logged once.
    last_failure: BTreeMap<ClaimName, String>,
}

impl<S: ClaimStore> State<S> {
    fn wakes_at(&self, next_refresh: Instant) -> Instant {
        self.presence
            .lost_at()
            .map_or(next_refresh, |lost_at| lost_at.min(next_refresh))
    }

    /// Notices silence, and puts everything on the claims again from time to time: another program
    /// may have rewritten a claim, or a write may have failed.
    async fn watch(&mut self, next_refresh: &mut Instant, refresh: Duration) {
        if self.presence.notice_silence() {
            self.silent = Some(metrics::silent_guest());
            warn!(
                cid = self.cid,
                "nothing was heard of the guest's agent for {} s: its devices become Unknown",
                self.lost_after.as_secs()
            );
        }
        self.put_all().await;
        *next_refresh = Instant::now() + refresh;
    }

    async fn hear(&mut self, connection: &mut Connection, line: &[u8]) -> Result<(), Ended> {
        let line = parse(line).map_err(Ended::NotOfTheProtocol)?;
        if connection.lines() == 1 && !matches!(line, Line::Hello { .. }) {
            return Err(Ended::NoHello);
        }
        let found_again = self.presence.hear();
        match line {
            Line::Hello {
                version,
                boot_id,
                document_digest,
            } => {
                info!(
                    cid = self.cid,
                    version,
                    boot_id,
                    document_digest = document_digest.as_deref().unwrap_or("none"),
                    "the guest's agent says hello"
                );
                self.account.restart();
                if self.presence.begin_account(boot_id) {
                    info!(cid = self.cid, "the guest was booted anew");
                    self.put_all().await;
                }
                acknowledge(connection, 0, Vec::new()).await?;
            }
            Line::Report { sequence, devices } => {
                let taken = self.account.take(devices);
                let mut problems = taken.problems;
                for problem in &problems {
                    debug!(cid = self.cid, sequence, "{problem}");
                }
                for claim in taken.claims {
                    problems.extend(self.put(&claim).await);
                }
                metrics::report(ReportOutcome::of(&problems));
                acknowledge(connection, sequence, problems).await?;
            }
            Line::Heartbeat => {}
            Line::Unknown { kind, sequence } => {
                debug!(
                    cid = self.cid,
                    kind, "a message of a type that is not known"
                );
                if let Some(sequence) = sequence {
                    let problem = format!(
                        "type {kind:?} is not known to this relay (version {}) and was passed over",
                        env!("CARGO_PKG_VERSION")
                    );
                    acknowledge(connection, sequence, vec![problem]).await?;
                }
            }
        }
        if found_again {
            self.silent = None;
            info!(cid = self.cid, "the guest's agent is heard again");
            self.put_all().await;
        }
        Ok(())
    }

    async fn put_all(&mut self) {
        for claim in self.account.claims() {
            self.put(&claim).await;
        }
    }

    /// Puts what is known on a claim, and says what a guest may know of the problems.
    async fn put(&mut self, claim: &ClaimName) -> Vec<String> {
        let mut update = self.account.update(claim, self.presence.unreported());
        if self.presence.is_lost() {
            update.statements.clear();
        }
        let (failure, problems) = match self.store.update(claim, update).await {
            Ok(outcome) => {
                if outcome.changed {
                    info!(cid = self.cid, %claim, "status written");
                }
                (outcome.problems.join("; "), outcome.problems)
            }
            Err(error) => (error.to_string(), vec![StoreError::for_guest(claim)]),
        };
        // A guest can have many problems: the log has the first of them.
        let failure = plain(&failure, LOG_BYTES);
        if failure.is_empty() {
            if self.last_failure.remove(claim).is_some() {
                info!(cid = self.cid, %claim, "all can be put on the claim again");
            }
        } else if self.last_failure.get(claim) != Some(&failure) {
            warn!(cid = self.cid, %claim, "{failure}");
            self.last_failure.insert(claim.clone(), failure);
        }
        problems
    }
}

async fn acknowledge(
    connection: &mut Connection,
    sequence: u64,
    mut problems: Vec<String>,
) -> Result<(), Closed> {
    let mut bytes = 0;
    let fitting = problems
        .iter()
        .take_while(|problem| {
            bytes += problem.len();
            bytes <= PROBLEMS_BYTES
        })
        .count();
    let left_out = problems.len() - fitting;
    problems.truncate(fitting);
    if left_out > 0 {
        problems.push(format!("and {left_out} more problems"));
    }
    connection
        .answer(&RelayMessage::Ack { sequence, problems })
        .await
}
