//! What the policy of `deploy/annotation` lets the relay's account do, and what not.

use anyhow::{Context as _, Result, ensure};
use dra_guest_tests::cluster::{Answer, Client, NODE};
use dra_guest_tests::wait;
use serde_json::{Value, json};

use crate::{ANNOTATION, Bed, PODS, account};

const MANAGER: &str = "dra-guest-relay-annotations";
const MERGE: &str = "application/merge-patch+json";

/// A pod that never runs.
fn pod(name: &str, node: &str, launcher: bool) -> Value {
    let label = if launcher { "virt-launcher" } else { "web" };
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "labels": {"kubevirt.io": label}, "annotations": {"others": "word"}},
        "spec": {
            "nodeName": node, "automountServiceAccountToken": false, "hostNetwork": true,
            "containers": [{"name": "compute", "image": "none", "imagePullPolicy": "Never"}],
        },
    })
}

fn annotate(client: &Client, name: &str, value: &str) -> Result<Answer> {
    client.apply(
        &format!("{PODS}/{name}"),
        MANAGER,
        &json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "annotations": {ANNOTATION: value}},
        }),
    )
}

fn refused(answer: &Answer, words: &str) -> Result<()> {
    ensure!(answer.status == 422, "not refused with 422: {answer:?}");
    ensure!(
        answer.message().contains("dra-guest-relay-one-annotation")
            && answer.message().contains(words),
        "not '{words}': {}",
        answer.message()
    );
    Ok(())
}

pub fn holds_to_one_annotation(bed: &mut Bed) -> Result<()> {
    let admin = bed.cluster.admin();
    for object in [
        pod("own", NODE, true),
        pod("plain", NODE, false),
        pod("elsewhere", "worker-1", true),
    ] {
        admin.create(PODS, &object)?.object()?;
    }
    let relay = admin.with_token(&account::token(admin, Some(NODE))?);
    // The API server knows a new policy and a new role some time later.
    wait::until("the policy is in force", wait::PATIENCE, || {
        let answer = annotate(&relay, "plain", "probe")?;
        Ok((answer.status == 422).then_some(()))
    })?;

    let written = annotate(&relay, "own", "{}")?.object()?;
    assert_eq!(
        written["metadata"]["annotations"],
        json!({"others": "word", ANNOTATION: "{}"})
    );

    let annotation = "may write the annotation dra-guest/device-attributes, and no other";
    let nothing_else = "may change nothing of a pod but its annotation";
    let metadata = |metadata: Value| json!({"metadata": metadata});
    for (patch, words) in [
        (
            metadata(json!({"annotations": {"kubevirt.io/x": "y"}})),
            annotation,
        ),
        (
            metadata(json!({"annotations": {"others": "other"}})),
            annotation,
        ),
        (
            metadata(json!({"annotations": {"others": null}})),
            annotation,
        ),
        (
            metadata(json!({"annotations": {ANNOTATION: "{}", "others": null}})),
            annotation,
        ),
        (metadata(json!({"annotations": null})), annotation),
        (metadata(json!({"labels": {"app": "x"}})), nothing_else),
        (
            metadata(json!({"labels": {"kubevirt.io": null}})),
            nothing_else,
        ),
        (
            metadata(json!({"finalizers": ["a.example.com/b"]})),
            nothing_else,
        ),
        (
            metadata(json!({"ownerReferences": [
                {"apiVersion": "v1", "kind": "Pod", "name": "plain", "uid": "u"}]})),
            nothing_else,
        ),
        (json!({"spec": {"activeDeadlineSeconds": 1}}), nothing_else),
        (
            json!({"spec": {"containers": [{"name": "compute", "image": "other", "imagePullPolicy": "Never"}]}}),
            nothing_else,
        ),
    ] {
        // What the strategic form would merge, this one replaces: the list of containers has one.
        let answer = relay.patch(&format!("{PODS}/own"), MERGE, &patch)?;
        if answer.status == 422 && !answer.message().contains("ValidatingAdmissionPolicy") {
            ensure!(false, "the API server itself refuses {patch}: {answer:?}");
        }
        refused(&answer, words).with_context(|| patch.to_string())?;
    }

    let launchers = "may only annotate virt-launcher pods";
    refused(&annotate(&relay, "plain", "{}")?, launchers)?;
    let own_node = "may only annotate pods of its own node";
    refused(&annotate(&relay, "elsewhere", "{}")?, own_node)?;
    let nowhere = admin.with_token(&account::token(admin, None)?);
    refused(&annotate(&nowhere, "own", "{\"a\": 1}")?, own_node)?;

    // Of its own it may let go.
    let gone = json!({"metadata": {"annotations": {ANNOTATION: null}}});
    let left = relay
        .patch(&format!("{PODS}/own"), MERGE, &gone)?
        .object()?;
    assert_eq!(left["metadata"]["annotations"], json!({"others": "word"}));

    // Others are not held.
    let word = metadata(json!({"annotations": {"others": "other"}}));
    admin
        .patch(&format!("{PODS}/own"), MERGE, &word)?
        .object()?;
    Ok(())
}

pub fn leaves_the_rest_to_nobody(bed: &mut Bed) -> Result<()> {
    let admin = bed.cluster.admin();
    let relay = admin.with_token(&account::token(admin, Some(NODE))?);
    let status = json!({"status": {"message": "x"}});
    let own = format!("{PODS}/own");
    let everything = |relay: &Client| -> Result<Vec<Answer>> {
        Ok(vec![
            relay.patch(&format!("{own}/status"), MERGE, &status)?,
            relay.create(PODS, &pod("new", NODE, true))?,
            relay.create(
                &format!("{own}/eviction"),
                &json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "own"}}),
            )?,
            relay.delete(&own)?,
        ])
    };
    for answer in everything(&relay)? {
        ensure!(answer.status == 403, "the role allows it: {answer:?}");
    }
    // The policy does not count on the role.
    account::widen(admin)?;
    wait::until("the wide role is in force", wait::PATIENCE, || {
        Ok((relay.get("/api/v1/nodes")?.status == 200).then_some(()))
    })?;
    let answers = everything(&relay);
    account::narrow(admin)?;
    for answer in answers? {
        refused(&answer, "may only annotate pods")?;
    }
    Ok(())
}
