//! The end of a VM: what the relay has put on its claims goes.

use anyhow::Result;
use dra_guest_tests::cluster::ControlPlane;
use serde_json::json;

use crate::account;
use crate::node::Node;
use crate::overload::Overload;
use dra_guest_tests::relay::guest::{failed, report};
use dra_guest_tests::relay::objects::{self, DRIVER};

pub fn the_end_of_a_vm(control: &mut ControlPlane) -> Result<()> {
    let account = account(control, "relay-f")?;
    let mut node = Node::start(control, "node-f", &account, &[])?;
    let of_driver = json!([{"driver": DRIVER, "pool": "p", "device": "nic-f2", "conditions": [
        {"type": "Ready", "status": "True", "reason": "Up", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}]);
    for claim in ["nic-f1", "nic-f2", "nic-f3"] {
        node.claim(claim)?;
    }
    node.apply("nic-f2", DRIVER, &of_driver)?;
    node.vm("vm-f", 5, &["nic-f1", "nic-f2"])?;
    node.vm("vm-g", 6, &["nic-f3"])?;
    let mut guest = node.guest()?;
    for (sequence, claim) in [(1, "nic-f1"), (2, "nic-f2")] {
        assert_eq!(guest.report(sequence, &report(claim))?, json!(null));
    }
    node.guest_at(6)?.report(1, &report("nic-f3"))?;

    node.end_pod("vm-f")?;
    // An entry that nobody else holds goes as a whole; the driver's stays as it was.
    assert_eq!(node.wait_for_release("nic-f1")?, json!(null));
    assert_eq!(node.wait_for_release("nic-f2")?, of_driver);
    // The VM itself goes: the same. Of the other there is still the object, and its CID is given to a new one below.
    node.end_vm("vm-g")?;
    assert_eq!(node.wait_for_release("nic-f3")?, json!(null));

    // The end of the relay is none of a VM's.
    node.claim("nic-f4")?;
    node.vm("vm-h", 5, &["nic-f4"])?;
    node.guest()?.report(1, &report("nic-f4"))?;
    node.wait_for_condition("nic-f4", "True", "Configured")?;
    node.end_relay()?;
    node.wait_for_condition("nic-f4", "True", "Configured")
}

pub fn it_waits_for_the_api_server(control: &mut ControlPlane) -> Result<()> {
    let account = account(control, "relay-i")?;
    let node = Node::start(control, "node-i", &account, &[])?;
    for claim in ["nic-i1", "nic-i2"] {
        node.claim(claim)?;
    }
    node.vm("vm-i", 5, &["nic-i1", "nic-i2"])?;
    let mut guest = node.guest()?;
    for (sequence, claim) in [(1, "nic-i1"), (2, "nic-i2")] {
        assert_eq!(guest.report(sequence, &report(claim))?, json!(null));
    }

    let overload = Overload::begin(control, &account)?;
    node.end_pod("vm-i")?;
    node.wait_for_log("default/nic-i1: the API server answers 429")?;
    // Meanwhile another VM has got one of them: its word counts, and nothing of the old one's.
    node.vm("vm-j", 6, &["nic-i2"])?;
    let mut other = node.guest_at(6)?;
    let problems = other.report(1, &failed("nic-i2", "Pending"))?;
    assert!(problems[0].as_str().unwrap().contains("cannot be written"));
    overload.end()?;
    assert_eq!(node.wait_for_release("nic-i1")?, json!(null));
    node.wait_for_condition("nic-i2", "False", "Pending")
}

pub fn a_claim_that_is_another_one_is_left_alone(control: &mut ControlPlane) -> Result<()> {
    let account = account(control, "relay-k")?;
    let node = Node::start(control, "node-k", &account, &[])?;
    let claims = ["nic-k1", "nic-k2", "nic-k3", "nic-k4"];
    for claim in claims {
        node.claim(claim)?;
    }
    node.vm("vm-k", 5, &claims)?;
    let mut guest = node.guest()?;
    for (sequence, claim) in (1..).zip(claims) {
        assert_eq!(guest.report(sequence, &report(claim))?, json!(null));
    }
    // Another claim of the name, none of the name, one that is deallocated, and one that the relay of another node has
    // written meanwhile: the VM has moved there.
    node.claim_anew("nic-k1")?;
    node.remove_claim("nic-k2")?;
    node.set_status("nic-k3", &json!({}))?;
    let of_other = json!([{"driver": DRIVER, "pool": "p", "device": "nic-k4", "conditions": [
        {"type": "dra-guest/Ready", "status": "True", "reason": "Configured", "message": "ens3",
         "lastTransitionTime": "2026-01-01T00:00:00Z"}]}]);
    node.apply("nic-k4", "dra-guest-relay", &of_other)?;
    let before = claims.map(|claim| node.read(claim).ok());

    node.end_pod("vm-k")?;
    for claim in claims {
        node.wait_for_log(&format!(
            "no VM of this node uses the claim any more, and it has no condition of this relay claim=default/{claim}"
        ))?;
    }
    assert_eq!(claims.map(|claim| node.read(claim).ok()), before);
    assert_eq!(before[3].as_ref().unwrap()["status"]["devices"], of_other);
    Ok(())
}

/// A VM moves from this node: its pod stays a while, and so does its claim when the target has it too.
pub fn a_vm_that_moves_away(control: &mut ControlPlane) -> Result<()> {
    let account = account(control, "relay-m")?;
    let node = Node::start(control, "node-m", &account, &[])?;
    node.claim("nic-m")?;
    node.vm("vm-m", 5, &["nic-m"])?;
    // The target's pod, on another node.
    node.second_pod("vm-m", "node-of-others", &["nic-m"])?;
    let mut guest = node.guest()?;
    assert_eq!(guest.report(1, &report("nic-m"))?, json!(null));
    node.wait_for_condition("nic-m", "True", "Configured")?;
    node.move_vm("vm-m", "node-of-others")?;
    guest.wait_for_end()?;
    node.wait_for_release("nic-m")?;
    objects::is_running(control, "virt-launcher-vm-m")
}
