//! The writer of one claim: the newest word, written until it stands there.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use super::claims::Requests;
use crate::monitoring::labels::ApplyOutcome;
use crate::monitoring::metrics;
use crate::monitoring::unsent::Unsent;
use crate::store::{ClaimName, ClaimUpdate, Outcome, StoreError};

/// The longest that a guest's task waits for a write: it has a guest to listen to.
const PATIENCE: Duration = Duration::from_secs(3);
/// The first pause after a failure; each further one is longer, up to [`LONGEST_PAUSE`], and jitter spreads
/// the writers of many claims.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// A task that writes one claim. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Writer {
    claim: ClaimName,
    wanted: watch::Sender<Wanted>,
    done: watch::Receiver<Done>,
    task: AbortHandle,
}

#[derive(Debug, Default)]
struct Wanted {
    number: u64,
    update: ClaimUpdate,
}

/// What came of the last try.
#[derive(Debug, Clone)]
struct Done {
    number: u64,
    result: Result<Outcome, StoreError>,
}

impl Writer {
    /// A writer that has nothing to write yet.
    pub(super) fn start(claim: ClaimName, requests: Requests) -> Self {
        let (wanted, wanted_receiver) = watch::channel(Wanted::default());
        let (done_sender, done) = watch::channel(Done {
            number: 0,
            result: Ok(Outcome::default()),
        });
        let task = tokio::spawn(write(claim.clone(), requests, wanted_receiver, done_sender));
        Self {
            claim,
            wanted,
            done,
            task: task.abort_handle(),
        }
    }

    /// Takes a word in place of an older one that is not written yet. The future says what came of it, or why
    /// it is not written yet; it is written later in any case.
    pub(super) fn write(
        &self,
        update: ClaimUpdate,
    ) -> impl Future<Output = Result<Outcome, StoreError>> + Send + use<> {
        let mut number = 0;
        self.wanted.send_modify(|wanted| {
            wanted.number += 1;
            wanted.update = update;
            number = wanted.number;
        });
        let mut done = self.done.clone();
        let claim = self.claim.clone();
        async move {
            // Whoever finds a failure does not wait: the next try may be far.
            let tried = done.wait_for(|done| done.number >= number || done.result.is_err());
            match timeout(PATIENCE, tried).await {
                Ok(Ok(done)) => done.result.clone(),
                Ok(Err(_)) => Err(StoreError(format!("{claim}: its guest is no more"))),
                Err(_) => Err(StoreError(format!(
                    "{claim}: the API server takes its time; the claim is written when it answers"
                ))),
            }
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn write(
    claim: ClaimName,
    requests: Requests,
    mut wanted: watch::Receiver<Wanted>,
    done: watch::Sender<Done>,
) {
    let pauses = ExponentialBuilder::default()
        .with_min_delay(FIRST_PAUSE)
        .with_max_delay(LONGEST_PAUSE)
        .with_jitter()
        .without_max_times();
    let mut next_pauses = pauses.build();
    let mut known = None;
    let unsent = Unsent::new();
    while wanted.changed().await.is_ok() {
        unsent.begin();
        loop {
            let (number, update) = {
                let wanted = wanted.borrow_and_update();
                (wanted.number, wanted.update.clone())
            };
            match requests.put(&claim, &mut known, &update).await {
                Ok(outcome) => {
                    metrics::put(outcome.changed, &unsent);
                    next_pauses = pauses.build();
                    done.send_replace(Done {
                        number,
                        result: Ok(outcome),
                    });
                    break;
                }
                Err(failure) => {
                    metrics::apply(ApplyOutcome::Failed);
                    done.send_replace(Done {
                        number,
                        result: Err(failure.error),
                    });
                    let pause = next_pauses.next().unwrap_or(LONGEST_PAUSE);
                    sleep(pause.max(failure.pause)).await;
                }
            }
        }
    }
}
