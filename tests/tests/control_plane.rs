//! What the API server says to those who write the status of a claim's devices. With the gate
//! `DRAResourceClaimGranularStatusAuthorization`, on since 1.36, permission to patch the status is not
//! enough: `pkg/registry/resource/utils.go` of Kubernetes asks for the driver's as well.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, ensure};
use dra_guest_tests::cluster::{Answer, Client, ControlPlane, ServiceAccount};
use dra_guest_tests::suite::{self, Shared};
use serde_json::{Value, json};

const CLAIMS: &str = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
const DRIVER: &str = "sriov.example.com";
/// The field manager of the relay, which is the writer here.
const MANAGER: &str = "dra-guest-relay";

static CONTROL_PLANE: Shared<ControlPlane> = Shared::new(|| ControlPlane::start("control_plane"));

fn main() -> ExitCode {
    suite::run(
        &CONTROL_PLANE,
        &[
            (
                "an_applied_condition_stands_beside_the_drivers_own",
                beside_the_drivers_own,
            ),
            ("without_any_role_it_is_forbidden", without_any_role),
            (
                "without_the_drivers_grant_it_is_invalid",
                without_the_drivers_grant,
            ),
            ("a_pod_of_the_claims_node_may", a_pod_of_the_claims_node),
            (
                "a_grant_for_all_drivers_is_one_for_this",
                a_grant_for_all_drivers,
            ),
            (
                "a_grant_for_another_driver_is_none",
                a_grant_for_another_driver,
            ),
            ("a_pod_of_another_node_may_not", a_pod_of_another_node),
            ("a_token_without_a_node_may_not", a_token_without_a_node),
            (
                "a_claim_of_no_single_node_is_nobodys",
                a_claim_of_no_single_node,
            ),
            ("a_grant_for_any_node_needs_no_node", a_grant_for_any_node),
            ("what_changes_nothing_needs_no_grant", what_changes_nothing),
        ],
    )
}

fn beside_the_drivers_own(control: &mut ControlPlane) -> Result<()> {
    let claim = Claim::on_node(control, "worker-0")?;
    let driver = json!({
        "conditions": [condition("Ready")],
        "data": {"link": "up"},
        "networkData": {"interfaceName": "net1", "ips": ["192.0.2.5/24"]},
    });
    claim.apply(control.admin(), DRIVER, &driver)?.object()?;
    let relay = json!({"conditions": [condition("dra-guest/Ready")]});
    let after = claim.apply(control.admin(), MANAGER, &relay)?.object()?;

    let device = &after["status"]["devices"][0];
    let types: Vec<_> = device["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["type"])
        .collect();
    assert_eq!(types, ["Ready", "dra-guest/Ready"]);
    assert_eq!(device["data"], driver["data"]);
    assert_eq!(device["networkData"], driver["networkData"]);

    // Who applies nothing releases what was its own, and that alone.
    let after = claim
        .apply(control.admin(), MANAGER, &json!({}))?
        .object()?;
    assert_eq!(
        after["status"]["devices"][0]["conditions"],
        json!([condition("Ready")])
    );
    Ok(())
}

fn without_any_role(control: &mut ControlPlane) -> Result<()> {
    let account = ServiceAccount::create(control.admin(), "without-role", &[])?;
    let claim = Claim::on_node(control, "worker-0")?;
    let answer = claim.report(&account.on_node("worker-0")?)?;
    assert_eq!(answer.status, 403, "{answer:?}");
    says(
        &answer,
        &[r#"cannot patch resource "resourceclaims/status""#],
    )
}

fn without_the_drivers_grant(control: &mut ControlPlane) -> Result<()> {
    let account = ServiceAccount::create(control.admin(), "status-alone", &[status()])?;
    let claim = Claim::on_node(control, "worker-0")?;
    let answer = claim.report(&account.on_node("worker-0")?)?;
    refused(&answer, "[associated-node:patch arbitrary-node:patch]")?;
    says(
        &answer,
        &[r#"cannot associated-node:patch resource "resourceclaims/driver""#],
    )
}

fn a_pod_of_the_claims_node(control: &mut ControlPlane) -> Result<()> {
    let rules = [status(), driver("associated-node:patch", &[DRIVER])];
    let account = ServiceAccount::create(control.admin(), "of-node", &rules)?;
    let claim = Claim::on_node(control, "worker-0")?;
    written(claim.report(&account.on_node("worker-0")?)?)
}

fn a_grant_for_all_drivers(control: &mut ControlPlane) -> Result<()> {
    let rules = [status(), driver("associated-node:patch", &[])];
    let account = ServiceAccount::create(control.admin(), "of-all-drivers", &rules)?;
    let claim = Claim::on_node(control, "worker-0")?;
    written(claim.report(&account.on_node("worker-0")?)?)
}

fn a_grant_for_another_driver(control: &mut ControlPlane) -> Result<()> {
    let rules = [
        status(),
        driver("associated-node:patch", &["gpu.example.com"]),
    ];
    let account = ServiceAccount::create(control.admin(), "of-other-driver", &rules)?;
    let claim = Claim::on_node(control, "worker-0")?;
    let answer = claim.report(&account.on_node("worker-0")?)?;
    refused(&answer, "[associated-node:patch arbitrary-node:patch]")
}

fn a_pod_of_another_node(control: &mut ControlPlane) -> Result<()> {
    let rules = [status(), driver("associated-node:patch", &[DRIVER])];
    let account = ServiceAccount::create(control.admin(), "of-other-node", &rules)?;
    let claim = Claim::on_node(control, "worker-0")?;
    let answer = claim.report(&account.on_node("worker-1")?)?;
    refused(&answer, "[arbitrary-node:patch]")
}

fn a_token_without_a_node(control: &mut ControlPlane) -> Result<()> {
    let rules = [status(), driver("associated-node:patch", &[DRIVER])];
    let account = ServiceAccount::create(control.admin(), "of-no-node", &rules)?;
    let claim = Claim::on_node(control, "worker-0")?;
    let answer = claim.report(&account.anywhere()?)?;
    refused(&answer, "[arbitrary-node:patch]")
}

fn a_claim_of_no_single_node(control: &mut ControlPlane) -> Result<()> {
    let rules = [status(), driver("associated-node:patch", &[DRIVER])];
    let account = ServiceAccount::create(control.admin(), "of-network", &rules)?;
    // As for devices that every node of a zone reaches.
    let claim = Claim::create(
        control,
        &json!({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}),
    )?;
    let answer = claim.report(&account.on_node("worker-0")?)?;
    refused(&answer, "[arbitrary-node:patch]")
}

fn a_grant_for_any_node(control: &mut ControlPlane) -> Result<()> {
    let rules = [status(), driver("arbitrary-node:patch", &[DRIVER])];
    let account = ServiceAccount::create(control.admin(), "of-any-node", &rules)?;
    let claim = Claim::on_node(control, "worker-0")?;
    written(claim.report(&account.anywhere()?)?)
}

fn what_changes_nothing(control: &mut ControlPlane) -> Result<()> {
    let account = ServiceAccount::create(control.admin(), "same-again", &[status()])?;
    let claim = Claim::on_node(control, "worker-0")?;
    written(claim.report(control.admin())?)?;
    written(claim.report(&account.on_node("worker-0")?)?)
}

/// The rule of a role that lets its holder patch the status of claims, short of what is granular.
fn status() -> Value {
    json!({"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims/status"], "verbs": ["patch"]})
}

/// The rule for the devices of these drivers; of all, when none is named.
fn driver(verb: &str, names: &[&str]) -> Value {
    json!({
        "apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims/driver"],
        "verbs": [verb], "resourceNames": names,
    })
}

fn condition(kind: &str) -> Value {
    json!({
        "type": kind, "status": "True", "reason": "Configured", "message": "net1 is up",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    })
}

/// A claim with one device, allocated.
struct Claim {
    path: String,
}

impl Claim {
    fn on_node(control: &ControlPlane, node: &str) -> Result<Self> {
        let field = json!({"key": "metadata.name", "operator": "In", "values": [node]});
        Self::create(control, &json!({"matchFields": [field]}))
    }

    /// `term` says which nodes reach the device.
    fn create(control: &ControlPlane, term: &Value) -> Result<Self> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("vm-nic-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let exactly = json!({"deviceClassName": "vf", "allocationMode": "ExactCount", "count": 1});
        let mut claim = control
            .admin()
            .create(
                CLAIMS,
                &json!({
                    "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
                    "metadata": {"name": name},
                    "spec": {"devices": {"requests": [{"name": "vf", "exactly": exactly}]}},
                }),
            )?
            .object()?;
        claim["status"] = json!({"allocation": {
            "devices": {"results": [
                {"request": "vf", "driver": DRIVER, "pool": "worker-0", "device": "0000-3b-02-1"},
            ]},
            "nodeSelector": {"nodeSelectorTerms": [term]},
        }});
        let path = format!("{CLAIMS}/{name}");
        control
            .admin()
            .replace(&format!("{path}/status"), &claim)?
            .object()?;
        Ok(Self { path })
    }

    /// Applies the condition that the relay does.
    fn report(&self, client: &Client) -> Result<Answer> {
        self.apply(
            client,
            MANAGER,
            &json!({"conditions": [condition("dra-guest/Ready")]}),
        )
    }

    /// Applies `fields` of the claim's one device.
    fn apply(&self, client: &Client, manager: &str, fields: &Value) -> Result<Answer> {
        let mut device = json!({"driver": DRIVER, "pool": "worker-0", "device": "0000-3b-02-1"});
        for (key, value) in fields.as_object().unwrap() {
            device[key] = value.clone();
        }
        let name = self.path.rsplit('/').next();
        client.apply(
            &format!("{}/status", self.path),
            manager,
            &json!({
                "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
                "metadata": {"name": name},
                "status": {"devices": [device]},
            }),
        )
    }
}

fn written(answer: Answer) -> Result<()> {
    ensure!(answer.status == 200, "{answer:?}");
    let claim = answer.object()?;
    assert_eq!(
        claim["status"]["devices"][0]["conditions"],
        json!([condition("dra-guest/Ready")])
    );
    Ok(())
}

/// The write is refused for want of one of `verbs`: as invalid, not as forbidden.
fn refused(answer: &Answer, verbs: &str) -> Result<()> {
    assert_eq!(answer.status, 422, "{answer:?}");
    assert_eq!(answer.body["reason"], "Invalid");
    let needs = format!(
        "status.devices: Forbidden: changing status.devices requires \
         resource=\"resourceclaims/driver\", verb=\"{verbs}\" permission"
    );
    says(answer, &[&needs])
}

fn says(answer: &Answer, words: &[&str]) -> Result<()> {
    for word in words {
        ensure!(
            answer.message().contains(word),
            "not '{word}': {}",
            answer.message()
        );
    }
    Ok(())
}
