//! The writer of one claim: the newest word, written until it stands there, or taken back until it does not.

use std::sync::Weak;
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use device_attributes::Name;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tracing::{info, warn};

use super::claims::Table;
use super::shared::{Joined, Voice};
use super::transfer::{Failure, Known, Transfer};
use crate::monitoring::labels::ApplyOutcome;
use crate::monitoring::metrics;
use crate::monitoring::unsent::Unsent;
use crate::rate::Rate;
use crate::store::{ClaimName, Outcome, StoreError};

/// The longest that a guest's task waits for a write: it has a guest to listen to.
const PATIENCE: Duration = Duration::from_secs(3);
/// The first pause after a failure; each further one is longer, up to [`LONGEST_PAUSE`], and jitter spreads
/// the writers of many claims.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Writes of one claim: so many at once, which is more than a guest's boot takes, and one each interval in the long
/// run. A guest that turns all the time costs the API server no more; what comes meanwhile is told by the next write.
const BURST: u32 = 60;
const INTERVAL: Duration = Duration::from_secs(1);

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
    word: Word,
}

/// What is to stand on the claim.
#[derive(Debug, Clone)]
enum Word {
    /// What these VMs say.
    Of(Vec<Voice>),
    /// Nothing of the relay's.
    Nothing,
}

impl Default for Word {
    fn default() -> Self {
        Self::Of(Vec::new())
    }
}

/// What came of the last try.
#[derive(Debug, Clone)]
struct Done {
    number: u64,
    result: Result<Joined, StoreError>,
}

impl Writer {
    /// A writer that has nothing to write yet.
    pub(super) fn start(claim: ClaimName, transfer: Transfer, table: Weak<Table>) -> Self {
        let (wanted, wanted_receiver) = watch::channel(Wanted::default());
        let (done_sender, done) = watch::channel(Done {
            number: 0,
            result: Ok(Joined::default()),
        });
        let work = Work {
            claim: claim.clone(),
            transfer,
            wanted: wanted_receiver,
            done: done_sender,
            table,
            release_failure: String::new(),
            unsent: Unsent::new(),
            rate: Rate::new(INTERVAL, BURST),
            next_write: Instant::now(),
        };
        Self {
            claim,
            wanted,
            done,
            task: tokio::spawn(work.run()).abort_handle(),
        }
    }

    /// Takes words in place of older ones that are not written yet.
    pub(super) fn put(&self, voices: Vec<Voice>) -> u64 {
        self.want(Word::Of(voices))
    }

    /// Gives up the relay's conditions, and ends.
    pub(super) fn release(&self) {
        self.want(Word::Nothing);
    }

    fn want(&self, word: Word) -> u64 {
        let mut number = 0;
        self.wanted.send_modify(|wanted| {
            wanted.number += 1;
            wanted.word = word;
            number = wanted.number;
        });
        number
    }

    /// As [`Writer::put`]. The future says what came of it for one VM, or why it is not written yet; it is written later
    /// in any case.
    pub(super) fn write(
        &self,
        voices: Vec<Voice>,
        vm: Name,
    ) -> impl Future<Output = Result<Outcome, StoreError>> + Send + use<> {
        let number = self.put(voices);
        let mut done = self.done.clone();
        let claim = self.claim.clone();
        async move {
            // Whoever finds a failure does not wait: the next try may be far.
            let tried = done.wait_for(|done| done.number >= number || done.result.is_err());
            match timeout(PATIENCE, tried).await {
                Ok(Ok(done)) => done.result.clone().map(|mut joined| Outcome {
                    changed: joined.changed,
                    problems: joined.problems.remove(&vm).unwrap_or_default(),
                }),
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

/// The task of a writer.
struct Work {
    claim: ClaimName,
    transfer: Transfer,
    wanted: watch::Receiver<Wanted>,
    done: watch::Sender<Done>,
    table: Weak<Table>,
    /// So that a lasting failure is logged once; those of a report are in the log of its guest.
    release_failure: String,
    unsent: Unsent,
    rate: Rate,
    /// Not before.
    next_write: Instant,
}

impl Work {
    async fn run(mut self) {
        let pauses = ExponentialBuilder::default()
            .with_min_delay(FIRST_PAUSE)
            .with_max_delay(LONGEST_PAUSE)
            .with_jitter()
            .without_max_times();
        let mut next_pauses = pauses.build();
        let mut known = None;
        while self.wanted.changed().await.is_ok() {
            self.unsent.begin();
            while let Err(pause) = self.attempt(&mut known).await {
                let grown = next_pauses.next().unwrap_or(LONGEST_PAUSE);
                sleep(grown.max(pause)).await;
            }
            next_pauses = pauses.build();
        }
    }

    /// Tries the newest word once.
    async fn attempt(&mut self, known: &mut Known) -> Result<(), Duration> {
        sleep_until(self.next_write).await;
        let (number, word) = {
            let wanted = self.wanted.borrow_and_update();
            (wanted.number, wanted.word.clone())
        };
        let tried = match word {
            Word::Of(voices) => self.transfer.put(&self.claim, known, &voices).await,
            Word::Nothing => self.release(known).await,
        };
        if !matches!(&tried, Ok(joined) if !joined.changed) {
            self.next_write = self.rate.take(1);
        }
        let (result, next) = match tried {
            Ok(joined) => {
                metrics::put(joined.changed, &self.unsent);
                (Ok(joined), Ok(()))
            }
            Err(Failure { error, pause, .. }) => {
                metrics::apply(ApplyOutcome::Failed);
                (Err(error), Err(pause))
            }
        };
        self.done.send_replace(Done { number, result });
        next
    }

    async fn release(&mut self, known: &mut Known) -> Result<Joined, Failure> {
        let claim = &self.claim;
        match self.transfer.release(claim, known).await {
            Ok(true) => {
                info!(%claim, "no VM of this node uses the claim any more: its condition is given up");
            }
            Ok(false) => {
                info!(%claim, "no VM of this node uses the claim any more, and it has no condition of this relay");
            }
            Err(failure) => {
                let words = failure.error.to_string();
                if words != self.release_failure {
                    warn!(%claim, "the condition cannot be given up: {words}");
                    self.release_failure = words;
                }
                return Err(failure);
            }
        }
        self.release_failure.clear();
        if let Some(table) = self.table.upgrade() {
            // Ends this task when nobody wants the claim again.
            table.retire(claim);
        }
        Ok(Joined::default())
    }
}
