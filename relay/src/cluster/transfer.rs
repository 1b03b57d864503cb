//! One claim's way to the API server and back: at most one request where something changes, and none where nothing
//! does.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, ResourceExt as _};
use serde_json::{Value as Json, json};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::apply::{self, FIELD_MANAGER};
use super::claim_status;
use super::events::Events;
use super::objects::{self, ClaimObject};
use super::refusal::{self, Meaning, Right};
use super::release;
use super::shared::{self, Joined, Voice};
use super::turns;
use crate::monitoring::labels::{FailureReason, Operation};
use crate::monitoring::metrics;
use crate::store::{ClaimName, StoreError};
use crate::value::Value;

/// The longest that an answer is waited for.
const ANSWER: Duration = Duration::from_secs(10);
/// How often a release is tried at once while others change the claim.
const ATTEMPTS: usize = 3;

/// Why a claim was not written.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: StoreError,
    /// How long the API server wants to be left alone.
    pub(super) pause: Duration,
    pub(super) meaning: Meaning,
}

/// How claims are read and written.
#[derive(Clone)]
pub(super) struct Transfer {
    client: Client,
    /// Fair: who waits longest is next.
    permits: Arc<Semaphore>,
    events: Events,
}

/// A claim as the API server has last shown it: in its answer to a read, and from then on in those to our own writes.
/// It holds until the API server says that it does not.
pub(super) type Known = Option<Value>;

impl std::fmt::Debug for Transfer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transfer")
            .field("permits", &self.permits)
            .finish_non_exhaustive()
    }
}

impl Transfer {
    pub(super) fn new(client: Client, permits: Arc<Semaphore>, events: Events) -> Self {
        Self {
            client,
            permits,
            events,
        }
    }

    /// Puts on a claim what its VMs say: no request when that changes nothing, and one when it does.
    pub(super) async fn put(
        &self,
        claim: &ClaimName,
        known: &mut Known,
        voices: &[Voice],
    ) -> Result<Joined, Failure> {
        // What stands there from an earlier relay waits for the first word, or the end of the silence.
        if known.is_none() && voices.iter().all(Voice::is_silent) {
            return Ok(Joined::default());
        }
        let held = match known.take() {
            Some(held) => held,
            None => self.read(claim).await?,
        };
        let mut wanted = held.clone();
        let joined = shared::merge(&mut wanted, voices, Timestamp::now());
        if !joined.changed {
            *known = Some(held);
            return Ok(joined);
        }
        match self.apply(claim, &apply::body(&wanted)).await {
            Ok(written) => {
                self.events.tell(claim, &turns::between(&held, &wanted));
                *known = Some(written);
                Ok(joined)
            }
            Err(failure) => {
                if failure.meaning == Meaning::Refused {
                    *known = Some(held);
                }
                Err(failure)
            }
        }
    }

    /// Gives up our conditions of a claim, and says whether there were any: one that is gone, another one now, or
    /// written by another relay has none of this relay's.
    pub(super) async fn release(
        &self,
        claim: &ClaimName,
        known: &mut Known,
    ) -> Result<bool, Failure> {
        let mut held = match known.take() {
            Some(held) => held,
            None => match self.read(claim).await {
                Ok(held) => held,
                Err(failure) if failure.meaning == Meaning::Gone => return Ok(false),
                Err(failure) => return Err(failure),
            },
        };
        let mut attempt = 1;
        while release::is_needed(&held) {
            let Err(failure) = self.apply(claim, &release::body(&held)).await else {
                return Ok(true);
            };
            match failure.meaning {
                // What cannot be written from this node is of another allocation.
                Meaning::Gone | Meaning::Invalid => return Ok(false),
                Meaning::Conflict if attempt < ATTEMPTS => attempt += 1,
                Meaning::Refused => {
                    *known = Some(held);
                    return Err(failure);
                }
                Meaning::Conflict | Meaning::Unclear => return Err(failure),
            }
            held = match self.read(claim).await {
                Ok(now) if release::is_as_known(&held, &now) => now,
                Ok(_) => return Ok(false),
                Err(failure) if failure.meaning == Meaning::Gone => return Ok(false),
                Err(failure) => return Err(failure),
            };
        }
        Ok(false)
    }

    fn api(&self, claim: &ClaimName) -> Api<ClaimObject> {
        let namespace = claim.namespace.as_str();
        Api::namespaced_with(self.client.clone(), namespace, &objects::claims())
    }

    async fn read(&self, claim: &ClaimName) -> Result<Value, Failure> {
        let right = Right("resource.k8s.io", "resourceclaims", "\"get\"");
        let api = self.api(claim);
        let request = api.get(claim.name.as_str());
        self.ask(claim, Operation::Read, right, request).await
    }

    async fn apply(&self, claim: &ClaimName, body: &Json) -> Result<Value, Failure> {
        // Not forced: what another manager holds stays with it.
        let parameters = PatchParams::apply(FIELD_MANAGER);
        let patch = Patch::Apply(body);
        let right = Right("resource.k8s.io", "resourceclaims/status", "\"patch\"");
        let api = self.api(claim);
        let name = claim.name.as_str();
        let request = api.patch_status(name, &parameters, &patch);
        self.ask(claim, Operation::Apply, right, request).await
    }

    async fn ask(
        &self,
        claim: &ClaimName,
        operation: Operation,
        right: Right,
        request: impl Future<Output = kube::Result<ClaimObject>>,
    ) -> Result<Value, Failure> {
        let failed = |words: String, pause, meaning| Failure {
            error: StoreError(format!("{claim}: {words}")),
            pause,
            meaning,
        };
        let unclear = |words: String| failed(words, Duration::ZERO, Meaning::Unclear);
        let Ok(_permit) = self.permits.acquire().await else {
            return Err(unclear("the relay ends".to_owned()));
        };
        metrics::request(operation);
        let answer = timeout(ANSWER, request).await.map_err(|_| {
            metrics::failure(operation, FailureReason::Timeout);
            let seconds = ANSWER.as_secs();
            unclear(format!("the API server has not answered for {seconds} s"))
        })?;
        let object = answer.map_err(|error| {
            metrics::failure(operation, refusal::reason(&error));
            let words = refusal::words(&error, right);
            failed(words, refusal::pause(&error), refusal::meaning(&error))
        })?;
        trimmed(object).map_err(|error| unclear(error.to_string()))
    }
}

/// What has to be known of a claim: a claim can be large, and a node can have many.
///
/// # Errors
/// It has a shape that no claim has.
pub fn trimmed(mut object: ClaimObject) -> Result<Value, serde_json::Error> {
    let status = object.status.as_mut();
    status.map(claim_status::without_words_of_others);
    serde_json::from_value(json!({
        "metadata": {
            "namespace": object.namespace(),
            "name": object.metadata.name,
            "uid": object.metadata.uid,
            "resourceVersion": object.metadata.resource_version,
        },
        "status": object.status,
    }))
}
