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
mod operations;
mod overload;
mod refusals;
mod release;
mod requests;
mod shared;

use std::process::ExitCode;

use anyhow::{Result, ensure};
use dra_guest_tests::cluster::{ControlPlane, ServiceAccount};
use dra_guest_tests::relay::guest::report;
use dra_guest_tests::relay::objects::{self, CLAIMS, DRIVER};
use dra_guest_tests::suite::{self, Shared};
use serde_json::{Value, json};

use node::{Node, said};

static CONTROL_PLANE: Shared<ControlPlane> =
    Shared::new(|| ControlPlane::with_kubevirt("relay_on_node"));

fn main() -> ExitCode {
    suite::run(
        &CONTROL_PLANE,
        &[
            ("a_report_becomes_a_condition_of_the_claim", a_report),
            ("a_reused_cid_inherits_nothing", a_reused_cid),
            ("silence_and_the_end_of_a_guest", silence),
            ("a_shared_claim_waits_for_all", shared::all_have_to_be_ready),
            (
                "a_relay_that_starts_anew_turns_nothing",
                shared::a_relay_that_starts_anew_turns_nothing,
            ),
            (
                "the_end_of_a_vm_releases_its_claims",
                release::the_end_of_a_vm,
            ),
            (
                "a_release_waits_for_the_api_server",
                release::it_waits_for_the_api_server,
            ),
            (
                "a_claim_that_is_another_one_is_left_alone",
                release::a_claim_that_is_another_one_is_left_alone,
            ),
            (
                "a_vm_that_moves_away_is_released",
                release::a_vm_that_moves_away,
            ),
            (
                "a_settled_node_asks_for_nothing",
                requests::a_settled_node_is_silent,
            ),
            (
                "the_missing_rule_is_named_and_its_grant_is_enough",
                refusals::missing_rule,
            ),
            (
                "a_condition_of_another_manager_is_left_to_it",
                refusals::held_by_another_manager,
            ),
            (
                "another_claim_of_the_name_is_read_anew",
                refusals::another_claim_of_the_name,
            ),
            (
                "eight_conditions_of_others_leave_no_room",
                refusals::no_room,
            ),
            ("an_overloaded_api_server_is_waited_for", refusals::overload),
            (
                "an_api_server_that_is_away_gets_the_newest_word",
                refusals::away,
            ),
            ("watches_that_are_too_old_begin_anew", refusals::old_watches),
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
                "an_annotation_under_way_is_written_before_the_end",
                operations::annotation_under_way,
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

/// The rules that the relay needs, but that for the driver and that for Events.
fn rules() -> Vec<Value> {
    objects::rules().into_iter().take(4).collect()
}

/// An account that may do what the relay needs.
fn account(control: &ControlPlane, name: &str) -> Result<ServiceAccount> {
    let rules = [rules(), vec![driver_rule()]].concat();
    ServiceAccount::create(control.admin(), name, &rules)
}

fn driver_rule() -> Value {
    json!({
        "apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims/driver"],
        "verbs": ["associated-node:patch"], "resourceNames": [DRIVER],
    })
}

fn a_report(control: &mut ControlPlane) -> Result<()> {
    let account = account(control, "relay-a")?;
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

fn a_reused_cid(control: &mut ControlPlane) -> Result<()> {
    let account = account(control, "relay-c")?;
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
    node.wait_for_condition("nic-c1", "Unknown", "AgentLost")?;
    node.end_vm("vm-c1")?;
    node.wait_for_release("nic-c1")?;
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
    ensure!(
        said(&node.read("nic-c1")?).is_empty(),
        "the old claim was written"
    );
    Ok(())
}

fn silence(control: &mut ControlPlane) -> Result<()> {
    let account = account(control, "relay-d")?;
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

/// The claim at its place in the API.
fn path_of(claim: &str) -> String {
    format!("{CLAIMS}/{claim}")
}
