//! The policy that holds the relay's account to its own condition. All other rights that the account would
//! need are given to it first, so that nothing else is in the way.

use std::fs;

use anyhow::{Context as _, Result, bail, ensure};
use dra_guest_tests::cluster::{Answer, Client};
use dra_guest_tests::wait;
use serde_json::{Value, json};

use crate::bed::{Bed, DRIVER, WITH_GUEST, file};
use crate::claim::{Claim, MANAGER, condition, ours};
use crate::wide;

const POLICY: &str = "dra-guest-relay-own-condition";
const ADMISSION: &str = "/apis/admissionregistration.k8s.io/v1";

pub fn no_warning(bed: &mut Bed) -> Result<()> {
    ready(bed)?;
    let path = format!("{ADMISSION}/validatingadmissionpolicies/{POLICY}");
    let policy = wait::until("the policy's types are checked", wait::PATIENCE, || {
        let policy = bed.get(&path)?;
        let observed = &policy["status"]["observedGeneration"];
        Ok((observed == &policy["metadata"]["generation"]).then_some(policy))
    })?;
    // The controller that checks types has nothing to say.
    assert_eq!(policy["status"]["typeChecking"], json!({}), "{policy}");
    Ok(())
}

/// What Kubernetes adds to the status of a claim has to be looked at.
pub fn each_field(bed: &mut Bed) -> Result<()> {
    let schema = bed.get("/openapi/v3/apis/resource.k8s.io/v1")?;
    let properties = |name: &str| {
        let all = &schema["components"]["schemas"][format!("io.k8s.api.resource.v1.{name}")];
        let properties = all["properties"].as_object().unwrap();
        properties.keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(
        properties("ResourceClaimStatus"),
        ["allocation", "devices", "reservedFor"]
    );
    let mut of_device = properties("AllocatedDeviceStatus");
    of_device.sort();
    assert_eq!(
        of_device,
        [
            "conditions",
            "data",
            "device",
            "driver",
            "networkData",
            "pool",
            "shareID"
        ]
    );
    Ok(())
}

pub fn own_requests(bed: &mut Bed) -> Result<()> {
    ready(bed)?;
    let relay = bed.as_relay()?;
    let claim = Claim::with_words_of_the_driver(bed)?;
    let before = claim.read(bed)?["status"]["devices"][0].clone();
    let apply = |fields: &[Value]| claim.apply(&relay, MANAGER, fields, "")?.object();

    // The first word of one device, then of both: the second has no entry before it.
    apply(&[ours("False", "not yet")])?;
    apply(&[ours("True", "net1"), ours("Unknown", "silent")])?;
    let after = apply(&[ours("Unknown", "silent"), ours("True", "net2")])?;
    let devices = &after["status"]["devices"];
    assert_eq!(devices[0]["conditions"][2]["message"], "silent");
    assert_eq!(devices[1]["conditions"][0]["message"], "net2");
    // One is given up, then the other, with a device that had nothing else.
    apply(&[ours("True", "net1")])?;
    claim.apply_devices(&relay, MANAGER, &[], "")?.object()?;
    let after = claim.read(bed)?;
    assert_eq!(after["status"]["devices"][0], before);
    Ok(())
}

pub fn greatest_size(bed: &mut Bed) -> Result<()> {
    ready(bed)?;
    let relay = bed.as_relay()?;
    // pkg/apis/resource: AllocationResultsMaxSize, 8 conditions, and data of 10 KiB.
    let claim = Claim::create(bed, "worker-0", &[DRIVER; 32])?;
    let words = "w".repeat(2_000);
    let conditions: Vec<Value> = (0..7)
        .map(|index| {
            let mut condition = condition(&format!("example.com/Number{index}"));
            condition["message"] = words.as_str().into();
            condition
        })
        .collect();
    let of_driver = json!({
        "conditions": conditions,
        "data": {"text": "d".repeat(10_000)},
        "networkData": {
            "interfaceName": "i".repeat(255),
            "ips": (0..16).map(|n| format!("2001:db8::{n:x}/64")).filter(|ip| ip != "2001:db8::0/64").collect::<Vec<_>>(),
        },
    });
    let all = vec![of_driver; 32];
    claim.apply(bed.admin(), DRIVER, &all, "")?.object()?;
    let message = "m".repeat(1_024);
    let all = vec![ours("True", &message); 32];
    claim.apply(&relay, MANAGER, &all, "")?.object()?;
    // And it is still looked at.
    let theft = json!({"data": {"text": "mine"}});
    let answer = claim.apply(&relay, MANAGER, &[theft], "&force=true")?;
    is_refused(&answer)
}

pub fn other_changes(bed: &mut Bed) -> Result<()> {
    ready(bed)?;
    let relay = bed.as_relay()?;
    let other = wide::account(bed)?;
    wide::with_relay(bed, || other_changes_of(bed, &relay, &other))
}

fn other_changes_of(bed: &Bed, relay: &Client, other: &Client) -> Result<()> {
    let claim = Claim::with_words_of_the_driver(bed)?;
    claim.report(relay)?.object()?;
    let now = claim.read(bed)?;
    let text = fs::read_to_string(file("other-changes.yaml"))?;
    let attempts: Vec<Value> = serde_saphyr::from_str(&text)?;
    for one in &attempts {
        let what = || one["what"].to_string();
        let answer = attempt(other, &claim, &now, one).with_context(what)?;
        ensure!(
            answer.status == 200,
            "{}, by another account: {} {}",
            one["what"],
            answer.status,
            answer.message()
        );
        let answer = attempt(relay, &claim, &now, one).with_context(what)?;
        is_refused(&answer).with_context(what)?;
    }

    // By other ways than its own, but its own condition.
    let path = format!("{}?dryRun=All", claim.status());
    let index = own_index(&claim.read(bed)?)?;
    let condition = format!("/status/devices/0/conditions/{index}");
    let patch = json!([
        {"op": "replace", "path": format!("{condition}/message"), "value": "net2"},
        {"op": "replace", "path": format!("{condition}/status"), "value": "False"},
    ]);
    relay
        .patch(&path, "application/json-patch+json", &patch)?
        .object()?;
    let patch = json!([{"op": "remove", "path": condition}]);
    relay
        .patch(&path, "application/json-patch+json", &patch)?
        .object()?;
    Ok(())
}

pub fn metadata(bed: &mut Bed) -> Result<()> {
    ready(bed)?;
    let relay = bed.as_relay()?;
    let claim = Claim::with_words_of_the_driver(bed)?;
    let before = claim.read(bed)?;
    let patch = json!({
        "metadata": {
            "labels": {"mine": "1"}, "annotations": {"mine": "1"},
            "finalizers": ["example.com/mine"], "ownerReferences": [
                {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "5c1f5f5e-0000-0000-0000-000000000000"},
            ],
        },
        "spec": {"devices": {"requests": [{"name": "mine", "exactly": {"deviceClassName": "vf"}}]}},
    });
    // The API server takes it for a change of nothing: pkg/registry/resource/resourceclaim/strategy.go.
    relay
        .patch(&claim.status(), "application/merge-patch+json", &patch)?
        .object()?;
    let after = claim.read(bed)?;
    for key in ["labels", "annotations", "finalizers", "ownerReferences"] {
        assert_eq!(after["metadata"][key], before["metadata"][key], "{key}");
    }
    assert_eq!(after["spec"], before["spec"]);
    assert_eq!(after["status"], before["status"]);
    Ok(())
}

/// Makes a request of `other-changes.yaml`, as a dry run. `now` is the claim as it is.
fn attempt(client: &Client, claim: &Claim, now: &Value, one: &Value) -> Result<Answer> {
    let path = format!("{}?dryRun=All", claim.status());
    if let Some(fields) = one["apply"].as_array() {
        let force = one["force"].as_bool().unwrap_or_default();
        let query = format!("&dryRun=All&force={force}");
        return claim.apply(client, MANAGER, fields, &query);
    }
    if let Some(put) = one.get("put") {
        let mut object = now.clone();
        let at = put["at"].as_str().context("where")?;
        *object.pointer_mut(at).context("nothing is there")? = put["value"].clone();
        return client.replace(&path, &object);
    }
    for (key, kind) in [
        ("json", "application/json-patch+json"),
        ("merge", "application/merge-patch+json"),
        ("strategic", "application/strategic-merge-patch+json"),
    ] {
        if let Some(patch) = one.get(key) {
            return client.patch(&path, kind, patch);
        }
    }
    bail!("no request: {one}")
}

fn own_index(claim: &Value) -> Result<usize> {
    let conditions = claim["status"]["devices"][0]["conditions"].as_array();
    conditions
        .context("conditions")?
        .iter()
        .position(|condition| condition["type"] == "dra-guest/Ready")
        .context("the relay's condition")
}

/// The API server compiles a policy some time after it was installed.
fn ready(bed: &mut Bed) -> Result<()> {
    bed.install(WITH_GUEST)?;
    let relay = bed.as_relay()?;
    let claim = Claim::create(bed, "worker-0", &[DRIVER])?;
    let theft = [json!({"data": {"link": "up"}})];
    wait::until("the policy is at work", wait::PATIENCE, || {
        let answer = claim.apply(&relay, MANAGER, &theft, "&dryRun=All")?;
        Ok(is_refused(&answer).is_ok().then_some(()))
    })
}

/// The policy has refused it, and nothing else.
fn is_refused(answer: &Answer) -> Result<()> {
    let words =
        format!("ValidatingAdmissionPolicy '{POLICY}' with binding '{POLICY}' denied request");
    ensure!(
        answer.status == 422 && answer.message().contains(&words),
        "{} {}",
        answer.status,
        answer.message()
    );
    Ok(())
}
