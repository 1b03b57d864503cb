//! What the relay asks of the API server, by its audit log.

use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};
use dra_guest_tests::cluster::ControlPlane;
use dra_guest_tests::wait;
use serde_json::json;

use crate::account;
use crate::node::Node;
use dra_guest_tests::relay::guest::{failed, report};

/// A fifth of the time in which a guest's task looks at all that it knows.
const BEAT: Duration = Duration::from_millis(400);

pub fn a_settled_node_is_silent(control: &mut ControlPlane) -> Result<()> {
    let account = account(control, "relay-q")?;
    let node = Node::start(control, "node-q", &account, &["--lost-after=2"])?;
    for claim in ["nic-q1", "nic-q2"] {
        node.claim(claim)?;
    }
    node.vm("vm-q", 5, &["nic-q1"])?;
    // It has no agent.
    node.vm("vm-r", 6, &["nic-q2"])?;
    let mut guest = node.guest()?;
    assert_eq!(guest.report(1, &report("nic-q1"))?, json!(null));
    let written = "patch resourceclaims/status nic-q1 200";
    // The log has a request a moment after its answer.
    let has_asked = |from: usize, expected: &[&str]| {
        wait::until(&format!("{expected:?}"), Duration::from_mins(1), || {
            Ok((requests(&node, from)? == expected).then_some(()))
        })
        .with_context(|| format!("{:?}", requests(&node, from)))
    };
    wait::until("the first write", Duration::from_mins(1), || {
        let all = requests(&node, 0)?;
        Ok(all.iter().any(|one| one == written).then_some(()))
    })?;
    let mut first = requests(&node, 0)?;
    // The other VM may be lost by now.
    first.retain(|one| !one.contains("nic-q2"));
    first[..2].sort_unstable();
    assert_eq!(
        first,
        [
            "list pods  200",
            "list virtualmachineinstances  200",
            "get resourceclaims nic-q1 200",
            written
        ],
    );

    // Until the relay has looked whether the claim of the one without an agent has an old condition.
    let mut settled = node.asked()?.len();
    loop {
        for _ in 0..10 {
            guest.heartbeat()?;
            thread::sleep(BEAT);
        }
        if requests(&node, settled)?.is_empty() {
            break;
        }
        has_asked(settled, &["get resourceclaims nic-q2 200"])?;
        settled = node.asked()?.len();
    }
    // The task of each guest has looked several times at all that it knows, and nothing was asked.
    assert_eq!(guest.report(2, &report("nic-q1"))?, json!(null));
    has_asked(settled, &[])?;

    // A change of readiness is one request.
    let from = node.asked()?.len();
    assert_eq!(guest.report(3, &failed("nic-q1", "Pending"))?, json!(null));
    has_asked(from, &[written])?;
    assert_eq!(guest.report(4, &report("nic-q1"))?, json!(null));
    has_asked(from, &[written, written])?;
    // So is the end of a VM.
    node.end_pod("vm-q")?;
    node.wait_for_release("nic-q1")?;
    has_asked(from, &[written, written, written])?;
    // A claim that has no condition is not written.
    node.end_pod("vm-r")?;
    node.wait_for_log("and it has no condition of this relay claim=default/nic-q2")?;
    has_asked(from, &[written, written, written])
}

/// All but the watches since the first `from` requests. Events have a test of their own.
fn requests(node: &Node, from: usize) -> Result<Vec<String>> {
    let asked = node.asked()?;
    Ok(asked[from..]
        .iter()
        .filter(|asked| asked.verb != "watch" && asked.resource != "events")
        .map(|asked| {
            let (verb, resource) = (&asked.verb, &asked.resource);
            format!("{verb} {resource} {} {}", asked.name, asked.code)
        })
        .collect())
}
