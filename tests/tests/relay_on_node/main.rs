//! The relay as a component of a node, against the real API server: pods and VMs as KubeVirt has them, and
//! a guest at the socket that its vhost-device-vsock would have.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub
)]

mod doctor;
mod door;
mod node;
mod objects;
mod operations;

use std::process::ExitCode;

use anyhow::{Result, ensure};
use dra_guest_tests::cluster::{ControlPlane, ServiceAccount, User};
use dra_guest_tests::suite::{self, Shared};
use serde_json::{Value, json};

use door::Door;
use node::{Node, report};
use objects::{CLAIMS, DRIVER};

static CONTROL_PLANE: Shared<ControlPlane> = Shared::new(|| {
    let control = ControlPlane::start("relay_on_node")?;
    objects::install_kubevirt(&control)?;
    Ok(control)
});

fn main() -> ExitCode {
    suite::run(
        &CONTROL_PLANE,
        &[
            ("a_report_becomes_a_condition_of_the_claim", a_report),
            (
                "the_missing_rule_is_named_and_its_grant_is_enough",
                missing_rule,
            ),
            ("a_reused_cid_inherits_nothing", a_reused_cid),
            ("silence_and_the_end_of_a_guest", silence),
            ("an_api_server_that_is_away_gets_the_newest_word", away),
            (
                "a_turn_is_an_event_that_kubectl_describe_shows",
                operations::events,
            ),
            (
                "a_guest_that_turns_all_the_time_costs_few_events",
                operations::wild_guest,
            ),
            (
                "without_the_rule_for_events_claims_are_written",
                operations::no_events,
            ),
            (
                "ready_when_the_node_is_listed_and_not_before",
                operations::readiness,
            ),
            (
                "a_write_under_way_ends_before_the_relay",
                operations::graceful_end,
            ),
            (
                "a_write_that_does_not_end_is_broken_off",
                operations::end_in_time,
            ),
            ("doctor_finds_nothing_on_a_node_that_works", doctor::well),
            ("doctor_names_each_missing_rule", doctor::missing_rules),
            ("doctor_looks_at_tokens_and_vms", doctor::tokens_and_vms),
        ],
    )
}

/// The rules that the relay needs.
fn rules() -> Vec<Value> {
    vec![
        json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]}),
        json!({"apiGroups": ["kubevirt.io"], "resources": ["virtualmachineinstances"], "verbs": ["list", "watch"]}),
        json!({"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims"], "verbs": ["get"]}),
        json!({"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims/status"], "verbs": ["patch"]}),
    ]
}

fn driver_rule() -> Value {
    json!({
        "apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims/driver"],
        "verbs": ["associated-node:patch"], "resourceNames": [DRIVER],
    })
}

fn a_report(control: &mut ControlPlane) -> Result<()> {
    let rules = [rules(), vec![driver_rule()]].concat();
    let account = ServiceAccount::create(control.admin(), "relay-a", &rules)?;
    let node = Node::start(control, "node-a", &account, &[])?;
    node.claim("nic-a")?;
    let of_driver = json!([{"driver": DRIVER, "pool": "p", "device": "nic-a", "data": {"link": "up"}, "conditions": [
        {"type": "Ready", "status": "True", "reason": "Up", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}]);
    node.apply("nic-a", DRIVER, &of_driver)?;
    node.vm("vm-a", 5, &["nic-a"])?;

    let mut guest = node.guest()?;
    assert_eq!(guest.report(1, &report("nic-a"))?, json!(null));
    let claim = node.read("nic-a")?;
    let device = &claim["status"]["devices"][0];
    let conditions = device["conditions"].as_array().unwrap();
    assert_eq!(conditions[0]["type"], "Ready");
    assert_eq!(conditions[1]["type"], "dra-guest/Ready");
    assert_eq!(conditions[1]["status"], "True");
    assert_eq!(conditions[1]["message"], "net1");
    assert_eq!(device["data"], json!({"link": "up"}));

    // Nothing is sent when nothing changed.
    assert_eq!(guest.report(2, &report("nic-a"))?, json!(null));
    let again = node.read("nic-a")?;
    assert_eq!(
        claim["metadata"]["resourceVersion"],
        again["metadata"]["resourceVersion"]
    );

    // A claim of nobody on this node.
    node.claim("nic-of-others")?;
    let problems = guest.report(3, &report("nic-of-others"))?;
    assert!(
        problems[0]
            .as_str()
            .unwrap()
            .contains("not one of this guest")
    );
    assert_eq!(
        node.read("nic-of-others")?["status"]["devices"],
        json!(null)
    );
    Ok(())
}

fn missing_rule(control: &mut ControlPlane) -> Result<()> {
    let account = ServiceAccount::create(control.admin(), "relay-b", &rules())?;
    let node = Node::start(control, "node-b", &account, &[])?;
    node.claim("nic-b")?;
    node.vm("vm-b", 5, &["nic-b"])?;
    let mut guest = node.guest()?;
    let problems = guest.report(1, &report("nic-b"))?;
    assert!(
        problems[0]
            .as_str()
            .unwrap()
            .contains("cannot be written now"),
        "{problems}"
    );
    node.wait_for_log(
        r#"resources ["resourceclaims/driver"], verbs ["associated-node:patch"], resourceNames [the drivers]"#,
    )?;

    let role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/relay-b";
    let mut object = control.admin().get(role)?.object()?;
    object["rules"] = json!([rules(), vec![driver_rule()]].concat());
    control.admin().replace(role, &object)?.object()?;
    // The guest says nothing more: the relay has kept it.
    node.wait_for_condition("nic-b", "True", "Configured")
}

fn a_reused_cid(control: &mut ControlPlane) -> Result<()> {
    let rules = [rules(), vec![driver_rule()]].concat();
    let account = ServiceAccount::create(control.admin(), "relay-c", &rules)?;
    let node = Node::start(control, "node-c", &account, &[])?;
    node.claim("nic-c1")?;
    node.claim("nic-c2")?;
    node.vm("vm-c1", 5, &["nic-c1"])?;
    let mut old = node.guest()?;
    assert_eq!(old.report(1, &report("nic-c1"))?, json!(null));

    // Both have it for a moment: then it is nobody's.
    node.vm("vm-c2", 5, &["nic-c2"])?;
    old.wait_for_end()?;
    node.wait_for_log("all have this CID")?;
    let before = node.read("nic-c1")?;
    node.end_vm("vm-c1")?;
    let mut new = node.guest()?;
    let problems = new.report(1, &report("nic-c1"))?;
    assert!(
        problems[0]
            .as_str()
            .unwrap()
            .contains("not one of this guest")
    );
    assert_eq!(new.report(2, &report("nic-c2"))?, json!(null));
    node.wait_for_condition("nic-c2", "True", "Configured")?;
    ensure!(node.read("nic-c1")? == before, "the old claim was written");
    Ok(())
}

fn silence(control: &mut ControlPlane) -> Result<()> {
    let rules = [rules(), vec![driver_rule()]].concat();
    let account = ServiceAccount::create(control.admin(), "relay-d", &rules)?;
    let node = Node::start(control, "node-d", &account, &["--lost-after=2"])?;
    node.claim("nic-d")?;
    node.vm("vm-d", 5, &["nic-d"])?;
    let mut guest = node.guest()?;
    assert_eq!(guest.report(1, &report("nic-d"))?, json!(null));
    node.wait_for_condition("nic-d", "Unknown", "AgentLost")?;
    guest.heartbeat()?;
    node.wait_for_condition("nic-d", "True", "Configured")?;

    node.end_pod("vm-d")?;
    guest.wait_for_end()?;
    Ok(())
}

fn away(control: &mut ControlPlane) -> Result<()> {
    let rules = [rules(), vec![driver_rule()]].concat();
    let account = ServiceAccount::create(control.admin(), "relay-e", &rules)?;
    let mut config = control.kubeconfig(User::Admin);
    let door = Door::before_server_of(&mut config)?;
    let node = Node::start_with(control, "node-e", &account, &[], config)?;
    node.claim("nic-e")?;
    node.vm("vm-e", 5, &["nic-e"])?;
    let mut guest = node.guest()?;
    assert_eq!(guest.report(1, &report("nic-e"))?, json!(null));

    door.shut();
    for (sequence, reason) in [(2, "Pending"), (3, "Ambiguous"), (4, "DeviceNotFound")] {
        let mut device = report("nic-e");
        device["ready"] = json!(false);
        device["reason"] = json!(reason);
        let problems = guest.report(sequence, &device)?;
        assert!(
            problems[0]
                .as_str()
                .unwrap()
                .contains("cannot be written now"),
            "{problems}"
        );
    }
    node.wait_for_condition("nic-e", "True", "Configured")?;
    door.open();
    // The guest says nothing more.
    node.wait_for_condition("nic-e", "False", "DeviceNotFound")?;
    assert_eq!(guest.report(5, &report("nic-e"))?, json!(null));
    node.wait_for_condition("nic-e", "True", "Configured")
}

/// The claim at its place in the API.
fn path_of(claim: &str) -> String {
    format!("{CLAIMS}/{claim}")
}
