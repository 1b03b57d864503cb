//! A claim that several VMs of the node have.

use std::thread;
use std::time::Duration;

use anyhow::Result;
use dra_guest_tests::cluster::ControlPlane;
use serde_json::json;

use crate::account;
use crate::node::Node;
use dra_guest_tests::relay::guest::{failed, report};

pub fn all_have_to_be_ready(control: &mut ControlPlane) -> Result<()> {
    let account = account(control, "relay-s")?;
    let node = Node::start(control, "node-s", &account, &["--lost-after=3"])?;
    node.claim("nic-s")?;
    node.vm("vm-s1", 5, &["nic-s"])?;
    let mut one = node.guest()?;
    assert_eq!(one.report(1, &report("nic-s"))?, json!(null));
    let is = |words: &'static str| node.wait_for("nic-s", words, move |said| said == words);
    is("True Configured net1")?;

    // A VM that gets the claim too has still to become ready.
    node.vm("vm-s2", 6, &["nic-s"])?;
    is("False Pending 1 of 2 VMs are ready; vm-s2: has not reported yet")?;
    let mut two = node.guest_at(6)?;
    assert_eq!(one.report(2, &report("nic-s"))?, json!(null));
    assert_eq!(two.report(1, &report("nic-s"))?, json!(null));
    is("True Configured 2 VMs are ready; vm-s1: net1; vm-s2: net1")?;
    assert_eq!(
        two.report(2, &failed("nic-s", "DeviceNotFound"))?,
        json!(null)
    );
    is("False DeviceNotFound 1 of 2 VMs are ready; vm-s2: no device of the guest answers to it")?;
    assert_eq!(two.report(3, &report("nic-s"))?, json!(null));

    // One is silent, the other is not.
    let mut heartbeat = || {
        thread::sleep(Duration::from_millis(300));
        one.heartbeat().unwrap();
    };
    node.wait_for("nic-s", "Unknown", |said| {
        heartbeat();
        said == "Unknown AgentLost 1 of 2 VMs are ready; vm-s2: nothing was heard of the guest's agent for 3 s"
    })?;

    // What is left of it counts.
    node.end_pod("vm-s2")?;
    two.wait_for_end()?;
    node.wait_for("nic-s", "the word of the one VM", |said| {
        heartbeat();
        said == "True Configured net1"
    })
}

pub fn a_relay_that_starts_anew_turns_nothing(control: &mut ControlPlane) -> Result<()> {
    let account = account(control, "relay-t")?;
    let mut node = Node::start(control, "node-t", &account, &[])?;
    node.claim("nic-t")?;
    node.vm("vm-t1", 5, &["nic-t"])?;
    node.vm("vm-t2", 6, &["nic-t"])?;
    for cid in [5, 6] {
        node.guest_at(cid)?.report(1, &report("nic-t"))?;
    }
    node.wait_for_condition("nic-t", "True", "Configured")?;
    let before = node.read("nic-t")?["metadata"]["resourceVersion"].take();

    node.restart_relay()?;
    // They come back one after the other.
    for cid in [6, 5] {
        let mut guest = node.guest_at(cid)?;
        assert_eq!(guest.report(1, &report("nic-t"))?, json!(null));
        assert_eq!(node.read("nic-t")?["metadata"]["resourceVersion"], before);
    }
    Ok(())
}
