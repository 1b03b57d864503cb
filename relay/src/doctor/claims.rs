//! The claims of the node's VMs: whose drivers they are, and whether they could be written.

use std::collections::BTreeSet;

use device_attributes::report::Reason;
use jiff::Timestamp;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use tokio::time::timeout;

use super::ask::{ANSWER, ask};
use crate::cluster::apply::{self, FIELD_MANAGER};
use crate::cluster::claim_status::allocated;
use crate::cluster::objects::{self, ClaimObject};
use crate::cluster::refusal::{self, Right};
use crate::cluster::transfer::trimmed;
use crate::merge::{CONDITION_TYPE, merge};
use crate::statement::{Condition, Statement, Status};
use crate::store::{ClaimName, ClaimUpdate};
use examination::Examination;

/// So many are read: a node can have many, and their drivers are few.
const CLAIMS: usize = 32;
const CHECK: &str = "write";

/// Reads claims, says their drivers, and tries to write one of them as a dry run.
pub async fn examine(
    client: &Client,
    claims: &BTreeSet<ClaimName>,
    examination: &mut Examination,
) -> BTreeSet<String> {
    let mut drivers = BTreeSet::new();
    let mut to_write = None;
    for claim in claims.iter().take(CLAIMS) {
        match ask(api(client, claim).get(claim.name.as_str())).await {
            Ok(object) => {
                let of_claim = drivers_of(&object);
                let is_allocated = !of_claim.is_empty();
                drivers.extend(of_claim);
                if to_write.is_none() && is_allocated {
                    to_write = Some((claim, object));
                }
            }
            Err(words) => {
                examination.unknown(CHECK, format!("{claim}: {words}"));
                return drivers;
            }
        }
    }
    match to_write {
        Some((claim, object)) => write(client, claim, object, examination).await,
        None => examination.unknown(CHECK, "no VM of this node has an allocated claim to try"),
    }
    drivers
}

fn api(client: &Client, claim: &ClaimName) -> Api<ClaimObject> {
    let namespace = claim.namespace.as_str();
    Api::namespaced_with(client.clone(), namespace, &objects::claims())
}

/// The API server checks a dry run as it checks a write (rights, admission, feature gates), and keeps nothing.
async fn write(
    client: &Client,
    claim: &ClaimName,
    object: ClaimObject,
    examination: &mut Examination,
) {
    let drivers: Vec<String> = drivers_of(&object).into_iter().collect();
    let now = Timestamp::now();
    let update = ClaimUpdate {
        statements: statements(&object, now),
        unreported: None,
    };
    let mut wanted = match trimmed(object) {
        Ok(value) => value,
        Err(error) => return examination.unknown(CHECK, format!("{claim}: {error}")),
    };
    let outcome = merge(&mut wanted, &update, now);
    if let Some(problem) = outcome.problems.first() {
        return examination.finding(
            CHECK,
            format!("{claim}: {problem}"),
            "look at the claim: kubectl get resourceclaim -o yaml",
        );
    }
    let parameters = PatchParams::apply(FIELD_MANAGER).dry_run();
    let patch = Patch::Apply(apply::body(&wanted));
    let api = api(client, claim);
    let right = Right("resource.k8s.io", "resourceclaims/status", "\"patch\"");
    let answer = timeout(
        ANSWER,
        api.patch_status(claim.name.as_str(), &parameters, &patch),
    )
    .await;
    match answer {
        Ok(Ok(written)) if has_condition(&written) => examination.ok(
            CHECK,
            format!("a dry run of {claim} is taken ({})", drivers.join(", ")),
        ),
        Ok(Ok(_)) => examination.finding(
            CHECK,
            format!("{claim}: the API server drops status.devices"),
            "switch on its feature gate DRAResourceClaimDeviceStatus, which is on by default since Kubernetes 1.33",
        ),
        Ok(Err(error)) => examination.finding(
            CHECK,
            format!(
                "a dry run of {claim} is refused: {}",
                refusal::words(&error, right)
            ),
            "see the findings on rights, and the words of the API server",
        ),
        Err(_) => examination.unknown(
            CHECK,
            format!("{claim}: no answer to a dry run for {} s", ANSWER.as_secs()),
        ),
    }
}

fn devices_of(claim: &ClaimObject) -> impl Iterator<Item = [&str; 3]> {
    claim.status.iter().flat_map(allocated)
}

fn drivers_of(claim: &ClaimObject) -> BTreeSet<String> {
    devices_of(claim)
        .map(|[driver, ..]| driver.to_owned())
        .collect()
}

/// A word about each device that no claim has yet: what changes nothing is not checked by the API server.
fn statements(claim: &ClaimObject, now: Timestamp) -> Vec<Statement> {
    let statement = |[driver, pool, device]: [&str; 3]| {
        Some(Statement {
            uid: None,
            request: None,
            driver: driver.parse().ok()?,
            pool: pool.parse().ok()?,
            device: device.parse().ok()?,
            condition: Condition {
                status: Status::Unknown,
                reason: Reason::Pending,
                message: format!("a dry run of dra-guest-relay doctor at {now}"),
            },
        })
    };
    devices_of(claim).filter_map(statement).collect()
}

fn has_condition(claim: &ClaimObject) -> bool {
    let Ok(claim) = trimmed(claim.clone()) else {
        return false;
    };
    let devices = claim
        .get("status")
        .and_then(|status| status.list("devices").ok());
    devices.into_iter().flatten().any(|device| {
        let conditions = device.list("conditions").unwrap_or_default();
        let mut kinds = conditions.iter().map(|condition| condition.text("type"));
        kinds.any(|kind| kind == Some(CONDITION_TYPE))
    })
}
