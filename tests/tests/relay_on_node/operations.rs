//! What operators see of a relay at work: Events, readiness, and its end.

use std::fs;
use std::process::Command;

use anyhow::{Result, ensure};
use dra_guest_tests::cluster::{Client, Components, ControlPlane, ServiceAccount, User};
use dra_guest_tests::command::stdout_of;
use dra_guest_tests::wait;
use serde_json::{Value, json};

use crate::door::Door;
use crate::node::Node;
use crate::{driver_rule, rules};
use dra_guest_tests::cluster::VMS;
use dra_guest_tests::relay::guest::report;
use dra_guest_tests::relay::monitor::METRICS;
use dra_guest_tests::relay::objects::{self, DRIVER, PODS};

const EVENTS: &str = "/api/v1/namespaces/default/events";

/// The Events on a VM, as core/v1 has them, which `kubectl describe` reads.
fn events_of(admin: &Client, vm: &str) -> Result<Vec<Value>> {
    let kind = "involvedObject.kind=VirtualMachineInstance";
    let path = format!("{EVENTS}?fieldSelector={kind},involvedObject.name={vm}");
    let list = admin.get(&path)?.object()?;
    Ok(list["items"].as_array().cloned().unwrap_or_default())
}

fn wait_for_event(admin: &Client, vm: &str, reason: &str) -> Result<Value> {
    wait::until(&format!("{reason} on {vm}"), wait::PATIENCE, || {
        let events = events_of(admin, vm)?;
        Ok(events.into_iter().find(|event| event["reason"] == reason))
    })
}

fn failed(claim: &str) -> Value {
    let mut device = report(claim);
    device["ready"] = json!(false);
    device["reason"] = json!("DeviceNotFound");
    device["message"] = json!("no NIC has\nthis MAC");
    device
}

pub fn events(control: &mut ControlPlane) -> Result<()> {
    let admin = control.admin();
    let account = ServiceAccount::create(admin, "relay-of", &objects::rules())?;
    let node = Node::start(control, "node-of", &account, &["--log-format=json"])?;
    node.claim("nic-of")?;
    node.vm("vm-of", 5, &["nic-of"])?;
    let mut guest = node.guest()?;
    assert_eq!(guest.report(1, &report("nic-of"))?, json!(null));
    let event = wait_for_event(admin, "vm-of", "Configured")?;
    let log = node.log()?;
    let line = log.lines().find(|line| line.contains("status written"));
    let line: Value = serde_json::from_str(line.unwrap())?;
    assert_eq!(line["cid"], 5);
    assert_eq!(line["claim"], "default/nic-of");
    assert_eq!(line["span"]["vm"], "default/vm-of");
    assert_eq!(event["type"], "Normal");
    assert_eq!(event["message"], "claim default/nic-of, request vf: net1");
    assert_eq!(event["reportingComponent"], "dra-guest-relay");
    assert_eq!(event["reportingInstance"], "node-of");
    assert_eq!(event["related"]["name"], "nic-of");
    let vm = admin.get(&format!("{VMS}/vm-of"))?.object()?;
    assert_eq!(event["involvedObject"]["uid"], vm["metadata"]["uid"]);

    // The same again is no turn, and another message of the same word is none either.
    let mut renamed = report("nic-of");
    renamed["interfaceName"] = json!("net2");
    guest.report(2, &renamed)?;
    assert_eq!(guest.report(3, &failed("nic-of"))?, json!(null));
    let event = wait_for_event(admin, "vm-of", "DeviceNotFound")?;
    assert_eq!(event["type"], "Warning");
    assert_eq!(
        event["message"],
        "claim default/nic-of, request vf: no NIC has this MAC"
    );
    let events = events_of(admin, "vm-of")?;
    ensure!(events.len() == 2, "{events:?}");

    let shown = describe(control, "vm-of")?;
    for words in [
        "Normal   Configured",
        "Warning  DeviceNotFound",
        "dra-guest-relay",
        "claim default/nic-of, request vf: net1",
    ] {
        ensure!(shown.contains(words), "{words} is not in:\n{shown}");
    }

    // Whoever deletes Events does not keep the next one away.
    for event in events {
        let name = event["metadata"]["name"].as_str().unwrap();
        admin.delete(&format!("{EVENTS}/{name}"))?.object()?;
    }
    guest.report(4, &report("nic-of"))?;
    wait_for_event(admin, "vm-of", "Configured")?;
    Ok(())
}

/// What a user sees.
fn describe(control: &ControlPlane, vm: &str) -> Result<String> {
    let directory = tempfile::tempdir()?;
    let kubeconfig = directory.path().join("kubeconfig");
    fs::write(&kubeconfig, control.kubeconfig(User::Admin).to_string())?;
    stdout_of(
        Command::new(Components::built()?.program("kubectl")?)
            .args(["describe", "virtualmachineinstance", vm])
            .env("KUBECONFIG", kubeconfig)
            .env("KUBECACHEDIR", directory.path()),
    )
}

pub fn wild_guest(control: &mut ControlPlane) -> Result<()> {
    let admin = control.admin();
    let account = ServiceAccount::create(admin, "relay-og", &objects::rules())?;
    let node = Node::start(control, "node-og", &account, &[METRICS])?;
    node.claim("nic-og")?;
    node.vm("vm-og", 5, &["nic-og"])?;
    let mut guest = node.guest()?;
    for sequence in 0..30 {
        let problems = guest.report(2 * sequence, &failed("nic-og"))?;
        ensure!(problems.is_null(), "{problems}");
        guest.report(2 * sequence + 1, &report("nic-og"))?;
    }
    node.wait_for_condition("nic-og", "True", "Configured")?;
    node.wait_for_metric("events_total{outcome=\"sent\"}", 25.0)?;
    let held_back = node.metric("events_total{outcome=\"held_back\"}")?;
    // Each turn was written, and each is told or counted; a minute may bring one more.
    ensure!(held_back >= 30.0, "{held_back}");
    ensure!(node.metric("applies_total{outcome=\"written\"}")? >= 60.0);
    let events = events_of(admin, "vm-og")?;
    ensure!(events.len() == 2, "{events:?}");
    let count = |event: &Value| event["series"]["count"].as_u64().unwrap();
    let told: u64 = events.iter().map(count).sum();
    ensure!((25..30).contains(&told), "{events:?}");
    Ok(())
}

pub fn no_events(control: &mut ControlPlane) -> Result<()> {
    let rules = [rules(), vec![driver_rule()]].concat();
    let account = ServiceAccount::create(control.admin(), "relay-oh", &rules)?;
    let node = Node::start(control, "node-oh", &account, &[METRICS])?;
    node.claim("nic-oh")?;
    node.vm("vm-oh", 5, &["nic-oh"])?;
    let mut guest = node.guest()?;
    assert_eq!(guest.report(1, &report("nic-oh"))?, json!(null));
    assert_eq!(guest.report(2, &failed("nic-oh"))?, json!(null));
    assert_eq!(guest.report(3, &report("nic-oh"))?, json!(null));
    node.wait_for_metric("events_total{outcome=\"failed\"}", 3.0)?;
    node.wait_for_condition("nic-oh", "True", "Configured")?;
    let forbidden = node.metric("failures_total{operation=\"event\",reason=\"forbidden\"}")?;
    ensure!((forbidden - 3.0).abs() < f64::EPSILON, "{forbidden}");
    let log = node.log()?;
    let rule = r#"apiGroups ["events.k8s.io"], resources ["events"], verbs ["create", "patch"]"#;
    assert_eq!(log.matches(rule).count(), 1, "{log}");
    Ok(())
}

pub fn readiness(control: &mut ControlPlane) -> Result<()> {
    // It may list pods, and not VMs.
    let account = ServiceAccount::create(control.admin(), "relay-oi", &rules()[..1])?;
    let node = Node::start(control, "node-oi", &account, &[METRICS])?;
    assert_eq!(node.get("/healthz")?.0, 200);
    let vms = "the VirtualMachineInstances of the node are not listed yet\n";
    wait::until("the pods to be listed", wait::PATIENCE, || {
        let (status, words) = node.get("/readyz")?;
        ensure!(status == 503, "{status} {words}");
        Ok((words == vms).then_some(()))
    })?;
    // Its list may be answered after that of the pods.
    node.wait_for_metric(
        "failures_total{operation=\"watch\",reason=\"forbidden\"}",
        1.0,
    )?;
    let role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/relay-oi";
    let mut object = control.admin().get(role)?.object()?;
    object["rules"] = json!(rules());
    control.admin().replace(role, &object)?.object()?;
    wait::until("readiness", wait::PATIENCE, || {
        Ok((node.get("/readyz")?.0 == 200).then_some(()))
    })
}

/// A relay behind a door, with a guest whose report waits in it.
fn held<'a>(control: &'a ControlPlane, letter: &str) -> Result<(Node<'a>, Door, String)> {
    let account = ServiceAccount::create(
        control.admin(),
        &format!("relay-{letter}"),
        &objects::rules(),
    )?;
    let mut config = control.kubeconfig(User::Admin);
    let door = Door::before_server_of(&mut config)?;
    let name = format!("node-{letter}");
    let node = Node::start_with(control, &name, &account, &[METRICS], config)?;
    let claim = format!("nic-{letter}");
    node.claim(&claim)?;
    node.vm(&format!("vm-{letter}"), 5, &[&claim])?;
    let mut guest = node.guest()?;
    assert_eq!(guest.report(1, &report(&claim))?, json!(null));
    door.hold();
    guest.say(2, &failed(&claim))?;
    node.wait_for_metric("api_requests_total{operation=\"apply\"}", 2.0)?;
    Ok((node, door, claim))
}

pub fn graceful_end(control: &mut ControlPlane) -> Result<()> {
    let (mut node, door, claim) = held(control, "oj")?;
    node.terminate()?;
    door.release();
    assert_eq!(node.exit_code()?, Some(0));
    node.wait_for_condition(&claim, "False", "DeviceNotFound")
}

/// A driver updates its metadata, and the relay is told to end while the API server is asked to write that.
pub fn annotation_under_way(control: &mut ControlPlane) -> Result<()> {
    let rule = |group: &str, resource: &str, verbs: &[&str]| json!({"apiGroups": [group], "resources": [resource], "verbs": verbs});
    let more = vec![
        rule("", "pods", &["patch"]),
        rule("resource.k8s.io", "resourceclaims", &["list", "watch"]),
        rule("resource.k8s.io", "resourceslices", &["list", "watch"]),
    ];
    let rules = [objects::rules(), more].concat();
    let account = ServiceAccount::create(control.admin(), "relay-oo", &rules)?;
    let mut config = control.kubeconfig(User::Admin);
    let door = Door::before_server_of(&mut config)?;
    let plugins = tempfile::tempdir()?;
    let metadata = format!("--metadata-dir={}", plugins.path().display());
    let arguments = [METRICS, "--annotate-pods", &metadata];
    let mut node = Node::start_with(control, "node-oo", &account, &arguments, config)?;
    node.claim("nic-oo")?;
    node.vm("vm-oo", 5, &["nic-oo"])?;
    node.wait_for_metric("annotations_total{outcome=\"written\"}", 1.0)?;
    node.wait_until_metric("annotations_waiting", |waiting| waiting < 1.0)?;

    door.hold();
    let asked = "api_requests_total{operation=\"annotate\"}";
    let before = node.metric(asked)?;
    let uid = node.read("nic-oo")?["metadata"]["uid"].take();
    let file = json!({
        "apiVersion": "metadata.resource.k8s.io/v1beta1", "kind": "DeviceMetadata",
        "metadata": {"namespace": "default", "name": "nic-oo", "uid": uid, "generation": 3},
        "requests": [{"name": "vf", "devices": [{"driver": DRIVER, "pool": "p", "name": "nic-oo"}]}],
    });
    let of_request = format!("{DRIVER}/dra-device-metadata/default_nic-oo/vf");
    let of_request = plugins.path().join(of_request);
    fs::create_dir_all(&of_request)?;
    fs::write(of_request.join("metadata.json"), file.to_string())?;
    node.wait_for_metric(asked, before + 1.0)?;
    node.terminate()?;
    door.release();
    assert_eq!(node.exit_code()?, Some(0));
    let pod = control
        .admin()
        .get(&format!("{PODS}/virt-launcher-vm-oo"))?
        .object()?;
    let written = &pod["metadata"]["annotations"]["dra-guest/device-attributes"];
    let document: Value = serde_json::from_str(written.as_str().unwrap_or_default())?;
    assert_eq!(document["devices"][0]["claim"]["generation"], 3);
    Ok(())
}

pub fn end_in_time(control: &mut ControlPlane) -> Result<()> {
    let (mut node, door, claim) = held(control, "ok")?;
    node.terminate()?;
    assert_eq!(node.exit_code()?, Some(0));
    node.wait_for_log("they are broken off")?;
    node.wait_for_condition(&claim, "True", "Configured")?;
    door.release();
    Ok(())
}
