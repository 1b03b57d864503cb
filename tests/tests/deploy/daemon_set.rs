//! The relay as a `DaemonSet`: what it needs of the node, and what it does there.

use std::fs;

use anyhow::{Context as _, Result};
use dra_guest_tests::cluster::deployment::DAEMON_SET;
use dra_guest_tests::cluster::{NODE, RELAY_IMAGE};
use dra_guest_tests::programs::workspace;
use dra_guest_tests::wait;
use serde_json::{Value, json};

use crate::bed::{Bed, CLAIMS, OWN_PROFILE, PODS, RUNTIMES_PROFILE, SHIPPED, WITH_GUEST};
use crate::guest::Guest;
use crate::vm_mount;

/// The device of the VM's claim.
pub const DEVICE: &str = "0000-3b-02-1";
/// What the relay says when it listens.
const LISTENING: &str = "listening on vsock port 10739 for the VMs of node worker-0";

pub fn listens_as_shipped(bed: &mut Bed) -> Result<()> {
    bed.install(SHIPPED)?;
    bed.wait_for_log(LISTENING)?;
    let pod = bed.relay()?;
    assert_eq!(pod["spec"]["nodeName"], NODE);
    assert_eq!(pod["spec"]["containers"][0]["image"], RELAY_IMAGE);
    // Of the admission plugin for priorities: the class is there, and open to this namespace.
    assert_eq!(pod["spec"]["priority"], 2_000_001_000);

    // It is nobody, with no rights of the kernel's, and can write nothing.
    let process = bed.relay_process()?;
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap().split_whitespace().collect::<Vec<_>>()
    };
    assert_eq!(field("Uid:"), ["65532"; 4]);
    assert_eq!(field("Gid:"), ["65532"; 4]);
    for set in ["CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"] {
        assert_eq!(field(set), ["0000000000000000"], "{set}");
    }
    assert_eq!(field("NoNewPrivs:"), ["1"]);
    let mounts = fs::read_to_string(format!("/proc/{process}/mounts"))?;
    let root = mounts
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>())
        .find(|fields| fields[1] == "/")
        .context("the root's mount")?;
    assert!(root[3].split(',').any(|option| option == "ro"), "{root:?}");
    Ok(())
}

pub fn the_runtimes_profile(bed: &mut Bed) -> Result<()> {
    bed.install(RUNTIMES_PROFILE)?;
    bed.wait_for_log("the relay cannot listen on vsock port 10739: Operation not permitted")
}

pub fn own_profile(bed: &mut Bed) -> Result<()> {
    let restricted = "restricted-by-test";
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {
            "name": restricted,
            "labels": {"pod-security.kubernetes.io/enforce": "restricted"},
        },
    });
    bed.admin()
        .create("/api/v1/namespaces", &namespace)?
        .object()?;
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "dra-guest-relay"}});
    let accounts = format!("/api/v1/namespaces/{restricted}/serviceaccounts");
    bed.admin().create(&accounts, &account)?.object()?;
    let admits = |bed: &Bed| {
        let mut template = bed.get(DAEMON_SET)?["spec"]["template"].take();
        template["apiVersion"] = "v1".into();
        template["kind"] = "Pod".into();
        template["metadata"]["name"] = "relay".into();
        // What the bed has added.
        template["spec"]
            .as_object_mut()
            .context("a spec")?
            .remove("hostNetwork");
        let pods = format!("/api/v1/namespaces/{restricted}/pods?dryRun=All");
        bed.admin().create(&pods, &template)
    };

    bed.install(SHIPPED)?;
    let refused = admits(bed)?;
    assert_eq!(refused.status, 403, "{refused:?}");
    // The one thing that is said against it.
    let (_, why) = refused
        .message()
        .split_once(r#""restricted:latest": "#)
        .unwrap();
    assert!(
        why.starts_with("seccompProfile (pod must not set securityContext.seccompProfile.type"),
        "{why}"
    );
    assert!(!why.contains("), "), "{why}");

    bed.install(OWN_PROFILE)?;
    bed.wait_for_log(LISTENING)?;
    assert_eq!(admits(bed)?.status, 201);
    let status = fs::read_to_string(format!("/proc/{}/status", bed.relay_process()?))?;
    assert!(status.contains("\nSeccomp:\t2\n"), "{status}");
    Ok(())
}

/// The whole way back: the claim that the scheduler allocated, the token that the kubelet got, the policy.
pub fn a_guests_report(bed: &mut Bed) -> Result<()> {
    bed.install(WITH_GUEST)?;
    vm_mount::run_pod(bed)?;
    let claim = claim_of_vm(bed)?;
    let mut guest = Guest::connect(&bed.guest())?;
    let problems = guest.report(1, &claim, DEVICE, None)?;
    assert_eq!(problems, Value::Null, "{:?}", bed.log());
    let problems = guest.report(2, &claim, DEVICE, Some("net1"))?;
    assert_eq!(problems, Value::Null, "{:?}", bed.log());
    let claim = claim_of_vm(bed)?;
    let condition = &claim["status"]["devices"][0]["conditions"][0];
    assert_eq!(condition["type"], "dra-guest/Ready");
    assert_eq!(condition["status"], "True");
    assert_eq!(condition["reason"], "Configured");
    assert_eq!(
        condition["message"],
        "net1 02:00:00:4e:92:87 at 0000:81:00.0, 192.0.2.5/24"
    );

    // And an Event on the VM says that it turned.
    wait::until("the Event on the VM", wait::PATIENCE, || {
        let events = bed.get("/apis/events.k8s.io/v1/namespaces/default/events")?;
        let mut events = events["items"].as_array().into_iter().flatten();
        let found = events.any(|event| {
            event["regarding"]["kind"] == "VirtualMachineInstance"
                && event["regarding"]["name"] == "vm"
                && event["reportingController"] == "dra-guest-relay"
                && event["reason"] == "Configured"
        });
        Ok(found.then_some(()))
    })
    .with_context(|| bed.log().unwrap_or_default())
}

/// The command of `docs/deploy.md`, as it stands there.
pub fn a_column(bed: &mut Bed) -> Result<()> {
    a_guests_report(bed)?;
    let text = fs::read_to_string(workspace().join("docs/deploy.md"))?;
    let shown = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("$ columns='"))
        .and_then(|line| line.strip_suffix('\''))
        .context("docs/deploy.md sets columns")?;
    let columns = format!("--output=custom-columns={shown}");
    let table = bed.kubectl(&["get", "resourceclaims", "--namespace=default", &columns])?;
    let claim = claim_of_vm(bed)?;
    let name = claim["metadata"]["name"].as_str().context("its name")?;
    let rows: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(rows[0], ["CLAIM", "FOR", "IN-GUEST", "REASON"], "{table}");
    let row = rows
        .iter()
        .find(|row| row[0] == name)
        .context(table.clone())?;
    assert_eq!(row[1..], ["virt-launcher-vm-x7k2p", "True", "Configured"]);
    // As scripts wait for it.
    let path = text
        .split("--for=")
        .nth(1)
        .and_then(|rest| rest.split_once("'=True"))
        .map(|(path, _)| path.replace('\'', ""))
        .context("docs/deploy.md waits")?;
    let claim = format!("resourceclaim/{name}");
    bed.kubectl(&["wait", &claim, &format!("--for={path}=True")])?;
    Ok(())
}

/// The claim of the VM's pod.
pub fn claim_of_vm(bed: &Bed) -> Result<Value> {
    let path = format!("{PODS}/virt-launcher-vm-x7k2p");
    let name = wait::until("the claim of the pod", wait::PATIENCE, || {
        let pod = bed.get(&path)?;
        let name = &pod["status"]["resourceClaimStatuses"][0]["resourceClaimName"];
        Ok(name.as_str().map(str::to_owned))
    })?;
    bed.get(&format!("{CLAIMS}/{name}"))
}
