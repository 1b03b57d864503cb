//! The API server as the store of claims.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, ResourceExt as _};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use super::apply::{self, FIELD_MANAGER};
use super::events::Events;
use super::objects::{self, ClaimObject};
use super::refusal::{self, Right};
use super::writer::Writer;
use crate::merge::merge;
use crate::monitoring::labels::{FailureReason, Operation};
use crate::monitoring::metrics;
use crate::store::{ClaimName, ClaimStore, ClaimUpdate, Outcome, StoreError};
use crate::value::Value;

/// The longest that an answer is waited for.
const ANSWER: Duration = Duration::from_secs(10);
/// What is known of a claim is read anew after so long: another program may have taken our condition away.
const KNOWN_FOR: Duration = Duration::from_mins(10);

/// A claim as the API server had it.
#[derive(Debug)]
pub(super) struct Known {
    claim: Value,
    since: Instant,
}

/// Why a claim was not written.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: StoreError,
    /// How long the API server wants to be left alone.
    pub(super) pause: Duration,
}

/// How claims are read and written.
#[derive(Clone)]
pub(super) struct Requests {
    client: Client,
    /// Fair: who waits longest is next.
    permits: Arc<Semaphore>,
    events: Events,
}

impl std::fmt::Debug for Requests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Requests")
            .field("permits", &self.permits)
            .finish_non_exhaustive()
    }
}

/// The claims of an API server.
///
/// Each claim has one writer: its writes are in order, and what waits is the newest word alone. A write that
/// failed is tried again with growing pauses until it succeeds or its guest is no more.
#[derive(Debug)]
pub struct ApiClaims {
    requests: Requests,
    writers: Mutex<HashMap<ClaimName, Writer>>,
}

impl ApiClaims {
    /// The claims that this client reaches. There are no more requests at once than permits, and none when these
    /// are closed; turns of readiness are told to `events`.
    pub fn new(client: Client, permits: Arc<Semaphore>, events: Events) -> Self {
        Self {
            requests: Requests {
                client,
                permits,
                events,
            },
            writers: Mutex::new(HashMap::new()),
        }
    }

    /// Gives up what is not written yet, and what is known of the claim.
    pub fn forget(&self, claim: &ClaimName) {
        self.writers().remove(claim);
    }

    fn writers(&self) -> MutexGuard<'_, HashMap<ClaimName, Writer>> {
        self.writers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClaimStore for ApiClaims {
    async fn update(&self, claim: &ClaimName, update: ClaimUpdate) -> Result<Outcome, StoreError> {
        let written = self
            .writers()
            .entry(claim.clone())
            .or_insert_with(|| Writer::start(claim.clone(), self.requests.clone()))
            .write(update);
        written.await
    }
}

impl Requests {
    /// Puts everything on a claim: no request when that changes nothing, and one when it does.
    pub(super) async fn put(
        &self,
        claim: &ClaimName,
        known: &mut Option<Known>,
        update: &ClaimUpdate,
    ) -> Result<Outcome, Failure> {
        if update.statements.is_empty() && update.unreported.is_none() {
            return Ok(Outcome::default());
        }
        let api = Api::<ClaimObject>::namespaced_with(
            self.client.clone(),
            claim.namespace.as_str(),
            &objects::claims(),
        );
        let name = claim.name.as_str();
        let fresh = known
            .take()
            .filter(|known| known.since.elapsed() < KNOWN_FOR);
        let held = if let Some(fresh) = fresh {
            fresh
        } else {
            let right = Right("resource.k8s.io", "resourceclaims", "\"get\"");
            self.ask(claim, Operation::Read, right, api.get(name))
                .await?
        };
        let mut wanted = held.claim.clone();
        let outcome = merge(&mut wanted, update, Timestamp::now());
        if !outcome.changed {
            *known = Some(held);
            return Ok(outcome);
        }
        // Not forced: what another manager holds stays with it.
        let parameters = PatchParams::apply(FIELD_MANAGER);
        let patch = Patch::Apply(apply::body(&wanted));
        let right = Right("resource.k8s.io", "resourceclaims/status", "\"patch\"");
        let written = api.patch_status(name, &parameters, &patch);
        *known = Some(self.ask(claim, Operation::Apply, right, written).await?);
        self.events.tell(claim, &outcome.turns);
        Ok(outcome)
    }

    async fn ask(
        &self,
        claim: &ClaimName,
        operation: Operation,
        right: Right,
        request: impl Future<Output = kube::Result<ClaimObject>>,
    ) -> Result<Known, Failure> {
        let failed = |words: String, pause| Failure {
            error: StoreError(format!("{claim}: {words}")),
            pause,
        };
        let Ok(_permit) = self.permits.acquire().await else {
            return Err(failed("the relay ends".to_owned(), Duration::ZERO));
        };
        let since = Instant::now();
        metrics::request(operation);
        let answer = timeout(ANSWER, request).await.map_err(|_| {
            metrics::failure(operation, FailureReason::Timeout);
            let words = format!("the API server has not answered for {} s", ANSWER.as_secs());
            failed(words, Duration::ZERO)
        })?;
        let object = answer.map_err(|error| {
            metrics::failure(operation, refusal::reason(&error));
            failed(refusal::words(&error, right), pause(&error))
        })?;
        let claim = trimmed(object).map_err(|error| failed(error.to_string(), Duration::ZERO))?;
        Ok(Known { claim, since })
    }
}

fn pause(error: &kube::Error) -> Duration {
    let kube::Error::Api(status) = error else {
        return Duration::ZERO;
    };
    let seconds = status
        .details
        .as_ref()
        .map_or(0, |details| details.retry_after_seconds);
    Duration::from_secs(seconds.into())
}

/// What has to be known of a claim: a claim can be large, and a node can have many.
///
/// # Errors
/// It has a shape that no claim has.
pub fn trimmed(mut object: ClaimObject) -> Result<Value, serde_json::Error> {
    let status = object.status.as_mut();
    status.map(objects::without_words_of_others);
    serde_json::from_value(json!({
        "metadata": {
            "namespace": object.namespace(),
            "name": object.metadata.name,
            "uid": object.metadata.uid,
        },
        "status": object.status,
    }))
}
