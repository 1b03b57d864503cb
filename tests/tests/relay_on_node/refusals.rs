//! An API server that refuses or is away: what is said is kept, and written when it can be.

use std::time::Duration;

use anyhow::Result;
use dra_guest_tests::cluster::{ControlPlane, ServiceAccount, User};
use dra_guest_tests::wait;
use serde_json::{Value, json};

use crate::door::Door;
use crate::node::Node;
use crate::overload::Overload;
use crate::{account, driver_rule, rules};
use dra_guest_tests::relay::guest::{failed, report};
use dra_guest_tests::relay::objects::{self, DRIVER};

fn cannot_be_written(problems: &Value) {
    let words = problems[0].as_str().unwrap_or_default();
    assert!(words.contains("cannot be written now"), "{problems}");
}

pub fn missing_rule(control: &mut ControlPlane) -> Result<()> {
    let account = ServiceAccount::create(control.admin(), "relay-b", &rules())?;
    let node = Node::start(control, "node-b", &account, &[])?;
    node.claim("nic-b")?;
    node.vm("vm-b", 5, &["nic-b"])?;
    let mut guest = node.guest()?;
    cannot_be_written(&guest.report(1, &report("nic-b"))?);
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

/// 409: somebody else has written our condition.
pub fn held_by_another_manager(control: &mut ControlPlane) -> Result<()> {
    let account = account(control, "relay-n")?;
    let node = Node::start(control, "node-n", &account, &[])?;
    node.claim("nic-n")?;
    let theirs = json!([{"driver": DRIVER, "pool": "p", "device": "nic-n", "conditions": [
        {"type": "dra-guest/Ready", "status": "False", "reason": "ByHand", "message": "not in use",
         "lastTransitionTime": "2026-01-01T00:00:00Z"}]}]);
    node.apply("nic-n", "somebody", &theirs)?;
    node.vm("vm-n", 5, &["nic-n"])?;
    let mut guest = node.guest()?;
    cannot_be_written(&guest.report(1, &report("nic-n"))?);
    node.wait_for_log("another program writes the relay's own condition")?;
    node.wait_for_condition("nic-n", "False", "ByHand")?;

    node.apply("nic-n", "somebody", &json!([]))?;
    node.wait_for_condition("nic-n", "True", "Configured")
}

/// 422 on the UID: the claim is another one of the same name.
pub fn another_claim_of_the_name(control: &mut ControlPlane) -> Result<()> {
    let account = account(control, "relay-o")?;
    let node = Node::start(control, "node-o", &account, &[])?;
    node.claim("nic-o")?;
    node.vm("vm-o", 5, &["nic-o"])?;
    let mut guest = node.guest()?;
    let uid = node.read("nic-o")?["metadata"]["uid"].take();
    let of_claim = |mut device: Value| {
        device["identity"]["claim"]["uid"] = uid.clone();
        device
    };
    assert_eq!(guest.report(1, &of_claim(report("nic-o")))?, json!(null));

    node.claim_anew("nic-o")?;
    cannot_be_written(&guest.report(2, &of_claim(failed("nic-o", "Pending")))?);
    node.wait_for_log("the claim is another one of the same name now")?;
    // Once it has been read anew, what the guest says of the old one is not said of the new one.
    wait::until("the guest hears of it", Duration::from_mins(1), || {
        let problems = guest.report(3, &of_claim(failed("nic-o", "Pending")))?;
        let words = problems[0].as_str().unwrap_or_default();
        Ok(words
            .contains("another claim of the same name")
            .then_some(()))
    })?;
    assert_eq!(node.read("nic-o")?["status"]["devices"], json!(null));
    assert_eq!(guest.report(4, &report("nic-o"))?, json!(null));
    node.wait_for_condition("nic-o", "True", "Configured")
}

/// 422: the conditions of others leave no room, and the relay did not know of them.
pub fn no_room(control: &mut ControlPlane) -> Result<()> {
    let account = account(control, "relay-p")?;
    let node = Node::start(control, "node-p", &account, &[])?;
    node.claim("nic-p")?;
    node.vm("vm-p", 5, &["nic-p"])?;
    let mut guest = node.guest()?;
    assert_eq!(guest.report(1, &report("nic-p"))?, json!(null));

    let conditions: Vec<Value> = (0..8)
        .map(|n| {
            json!({"type": format!("Of{n}"), "status": "True", "reason": "Up", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z"})
        })
        .collect();
    let mut status = objects::allocation("nic-p", "node-p");
    status["devices"] =
        json!([{"driver": DRIVER, "pool": "p", "device": "nic-p", "conditions": conditions}]);
    node.set_status("nic-p", &status)?;
    cannot_be_written(&guest.report(2, &failed("nic-p", "Pending"))?);
    node.wait_for_log("the API server answers 422")?;
    // The relay has read it anew and knows why; it does not ask again what is refused.
    node.wait_for_log("the device has 8 conditions of others")?;
    let asked = node.asked()?.len();
    let problems = guest.report(3, &report("nic-p"))?;
    assert!(
        problems[0]
            .as_str()
            .unwrap()
            .contains("8 conditions of others")
    );
    assert_eq!(node.asked()?.len(), asked);
    Ok(())
}

/// 429: API Priority and Fairness lets nothing of the relay's through.
pub fn overload(control: &mut ControlPlane) -> Result<()> {
    let account = account(control, "relay-u")?;
    let node = Node::start(control, "node-u", &account, &[])?;
    node.claim("nic-u")?;
    node.vm("vm-u", 5, &["nic-u"])?;
    let mut guest = node.guest()?;
    assert_eq!(guest.report(1, &report("nic-u"))?, json!(null));

    let overload = Overload::begin(control, &account)?;
    let from = node.asked()?.len();
    for (sequence, reason) in [(2, "Pending"), (3, "Ambiguous"), (4, "DeviceNotFound")] {
        cannot_be_written(&guest.report(sequence, &failed("nic-u", reason))?);
    }
    node.wait_for_log("it has too much to do: the relay waits")?;
    overload.end()?;
    // The guest says nothing more.
    node.wait_for_condition("nic-u", "False", "DeviceNotFound")?;
    // What is known still holds: nothing was read anew.
    let asked = wait::until("the write in the log", Duration::from_mins(1), || {
        let mut asked = node.asked()?.split_off(from);
        // Neither Events nor what the test itself asks as this account.
        asked.retain(|asked| asked.name == "nic-u");
        let is_written = asked.last().is_some_and(|last| last.code == 200);
        Ok(is_written.then_some(asked))
    })?;
    let (last, refused) = asked.split_last().unwrap();
    assert_eq!(last.verb, "patch");
    assert!(refused.iter().all(|asked| asked.code == 429), "{refused:?}");
    Ok(())
}

/// 410: the API server was started anew and has forgotten what the relay's watches go on from.
pub fn old_watches(control: &mut ControlPlane) -> Result<()> {
    let account = account(control, "relay-v")?;
    let (door, config) = before(control)?;
    let node = Node::start_with(control, "node-v", &account, &[], config)?;
    for claim in ["nic-v1", "nic-v2"] {
        node.claim(claim)?;
    }
    node.vm("vm-v1", 5, &["nic-v1"])?;
    let mut guest = node.guest()?;
    assert_eq!(guest.report(1, &report("nic-v1"))?, json!(null));

    door.shut();
    // What the relay does not see happen.
    node.end_pod("vm-v1")?;
    node.end_vm("vm-v1")?;
    node.vm("vm-v2", 6, &["nic-v2"])?;
    control.restart_api_server()?;
    door.open();
    node.wait_for_log("the API server answers 410")?;
    guest.wait_for_end()?;
    node.wait_for_release("nic-v1")?;
    assert_eq!(node.guest_at(6)?.report(1, &report("nic-v2"))?, json!(null));
    node.wait_for_condition("nic-v2", "True", "Configured")
}

pub fn away(control: &mut ControlPlane) -> Result<()> {
    let account = account(control, "relay-e")?;
    let (door, config) = before(control)?;
    let node = Node::start_with(control, "node-e", &account, &[], config)?;
    node.claim("nic-e")?;
    node.vm("vm-e", 5, &["nic-e"])?;
    let mut guest = node.guest()?;
    assert_eq!(guest.report(1, &report("nic-e"))?, json!(null));

    door.shut();
    for (sequence, reason) in [(2, "Pending"), (3, "Ambiguous"), (4, "DeviceNotFound")] {
        cannot_be_written(&guest.report(sequence, &failed("nic-e", reason))?);
    }
    node.wait_for_condition("nic-e", "True", "Configured")?;
    door.open();
    // The guest says nothing more.
    node.wait_for_condition("nic-e", "False", "DeviceNotFound")?;
    assert_eq!(guest.report(5, &report("nic-e"))?, json!(null));
    node.wait_for_condition("nic-e", "True", "Configured")
}

/// A door before the API server, and a kubeconfig that leads through it.
fn before(control: &ControlPlane) -> Result<(Door, Value)> {
    let mut config = control.kubeconfig(User::Admin);
    let door = Door::before_server_of(&mut config)?;
    Ok((door, config))
}
