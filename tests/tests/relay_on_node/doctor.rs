//! `dra-guest-relay doctor` against the real API server, with and without what the relay needs.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use dra_guest_tests::cluster::{ControlPlane, ServiceAccount, User};
use dra_guest_tests::programs::static_program;
use dra_guest_tests::wait;
use serde_json::{Value, json};

use crate::node::Node;
use dra_guest_tests::cluster::VMS;
use dra_guest_tests::relay::objects::{self, DRIVER};

/// What doctor says.
struct Said {
    code: Option<i32>,
    json: Value,
}

fn doctor(kubeconfig: &Path, more: &[&str]) -> Result<Said> {
    let output = Command::new(static_program("dra-guest-relay")?)
        .arg("doctor")
        .arg("--json")
        .arg(format!("--kubeconfig={}", kubeconfig.display()))
        .args(more)
        .output()?;
    let words = || String::from_utf8_lossy(&output.stderr).into_owned();
    Ok(Said {
        code: output.status.code(),
        json: serde_json::from_slice(&output.stdout).with_context(words)?,
    })
}

impl Said {
    /// The messages of a check with a verdict.
    fn messages(&self, name: &str, verdict: &str) -> Vec<&str> {
        let checks = self.json["checks"].as_array().unwrap().iter();
        checks
            .filter(|check| check["name"] == name && check["verdict"] == verdict)
            .map(|check| check["message"].as_str().unwrap())
            .collect()
    }

    /// All that is to do.
    fn advice(&self) -> Vec<&str> {
        let checks = self.json["checks"].as_array().unwrap().iter();
        checks
            .filter_map(|check| check["advice"].as_str())
            .collect()
    }
}

pub fn well(control: &mut ControlPlane) -> Result<()> {
    let account = ServiceAccount::create(control.admin(), "relay-ol", &objects::rules())?;
    let node = Node::start(control, "node-ol", &account, &[])?;
    node.claim("nic-ol")?;
    node.vm("vm-ol", 5, &["nic-ol"])?;
    let before = node.read("nic-ol")?;
    let said = doctor(&node.kubeconfig(), &[&node.guest_socket()])?;
    ensure!(said.code == Some(0), "{}", said.json);
    assert_eq!(said.json["findings"], 0);
    assert_eq!(said.json["node"], "node-ol");
    let identity = said.messages("identity", "ok");
    assert_eq!(
        identity,
        ["system:serviceaccount:default:relay-ol, relay-ol-node-ol on node node-ol"]
    );
    assert_eq!(
        said.messages("write", "ok"),
        [format!("a dry run of default/nic-ol is taken ({DRIVER})")]
    );
    assert_eq!(said.messages("rights", "ok").len(), objects::rules().len());
    assert_eq!(
        said.messages("vms", "ok"),
        ["1 of 1 VMs of this node have claims, and each of them has a CID"]
    );
    ensure!(
        said.messages("guest-socket", "ok")[0].ends_with("is listened on"),
        "{}",
        said.json
    );
    ensure!(
        node.read("nic-ol")? == before,
        "doctor has written the claim"
    );

    // Another driver, which the rule does not name.
    let said = doctor(
        &node.kubeconfig(),
        &[&node.guest_socket(), "--driver=gpu.example.com"],
    )?;
    assert_eq!((said.code, &said.json["findings"]), (Some(1), &json!(1)));
    assert_eq!(
        said.advice(),
        [
            "add to the relay's ClusterRole: {apiGroups: [\"resource.k8s.io\"], resources: [\"resourceclaims/driver\"], \
          verbs: [\"associated-node:patch\"], resourceNames: [\"gpu.example.com\"]}"
        ]
    );
    let said = doctor(
        &node.kubeconfig(),
        &[&node.guest_socket(), "--node-name=node-x"],
    )?;
    assert_eq!(said.code, Some(1));
    assert_eq!(
        said.messages("node", "finding"),
        ["--node-name is node-x, and the token is bound to node node-ol"]
    );
    Ok(())
}

pub fn missing_rules(control: &mut ControlPlane) -> Result<()> {
    // One rule is missing at a time, and then all of them.
    let all = objects::rules();
    let account = ServiceAccount::create(control.admin(), "relay-om", &all)?;
    let node = Node::start(control, "node-om", &account, &[])?;
    node.claim("nic-om")?;
    node.vm("vm-om", 5, &["nic-om"])?;
    for missing in &all {
        let others: Vec<&Value> = all.iter().filter(|rule| *rule != missing).collect();
        let said = said_with(control, &node, &json!(others))?;
        assert_eq!(said.code, Some(1));
        let resource = missing["resources"][0].as_str().unwrap();
        let advice = format!("resources: [{resource:?}], verbs: [");
        let of_rules: Vec<&str> = said
            .advice()
            .into_iter()
            .filter(|advice| advice.contains("ClusterRole"))
            .collect();
        ensure!(
            of_rules.len() == 1 && of_rules[0].contains(&advice),
            "without {missing}: {of_rules:?}"
        );
        if resource == "resourceclaims/driver" {
            ensure!(of_rules[0].contains(DRIVER), "{of_rules:?}");
            let refused = said.messages("write", "finding");
            ensure!(refused[0].contains("422"), "{refused:?}");
        }
    }
    let said = said_with(control, &node, &json!([]))?;
    assert_eq!(said.messages("rights", "finding").len(), all.len());
    Ok(())
}

/// What doctor says when the account of the node has these rules.
fn said_with(control: &ControlPlane, node: &Node<'_>, rules: &Value) -> Result<Said> {
    let role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/relay-om";
    let mut object = control.admin().get(role)?.object()?;
    object["rules"] = rules.clone();
    control.admin().replace(role, &object)?.object()?;
    let driver = format!("--driver={DRIVER}");
    // The API server reads roles from a cache of its own, some milliseconds later.
    let wanted = rules.as_array().unwrap().len();
    wait::until(
        "the rules to hold",
        std::time::Duration::from_mins(1),
        || {
            let said = doctor(&node.kubeconfig(), &[&node.guest_socket(), &driver])?;
            let is_so = said.messages("rights", "ok").len() == wanted;
            Ok(is_so.then_some(said))
        },
    )
}

pub fn tokens_and_vms(control: &mut ControlPlane) -> Result<()> {
    let admin = control.admin();
    let mut all = objects::rules();
    all.push(json!({"apiGroups": ["kubevirt.io"], "resources": ["kubevirts"], "verbs": ["list"]}));
    let account = ServiceAccount::create(admin, "relay-on", &all)?;
    let node = Node::start(control, "node-on", &account, &[])?;
    node.claim("nic-on")?;
    node.vm("vm-on", 5, &["nic-on"])?;
    let mut vm = admin.get(&format!("{VMS}/vm-on"))?.object()?;
    vm["status"] = json!({"phase": "Running"});
    admin
        .replace(&format!("{VMS}/vm-on/status"), &vm)?
        .object()?;
    let said = doctor(&node.kubeconfig(), &[&node.guest_socket()])?;
    let deaf = said.messages("vms", "finding");
    ensure!(
        deaf[0].ends_with("cannot report: default/vm-on"),
        "{deaf:?}"
    );
    ensure!(
        said.advice()[0].contains("autoattachVSOCK: true"),
        "{:?}",
        said.advice()
    );

    // KubeVirt's own configuration: not there, without the gate, with it.
    assert_eq!(said.messages("kubevirt-gate", "unknown").len(), 1);
    let kubevirt = objects::install_kubevirt_configuration(control)?;
    let said = doctor(&node.kubeconfig(), &[&node.guest_socket()])?;
    assert_eq!(said.messages("kubevirt-gate", "finding").len(), 1);
    let mut object = admin.get(&kubevirt)?.object()?;
    let gates = &mut object["spec"]["configuration"]["developerConfiguration"]["featureGates"];
    *gates = json!(["VSOCK"]);
    admin.replace(&kubevirt, &object)?.object()?;
    let said = doctor(&node.kubeconfig(), &[&node.guest_socket()])?;
    assert_eq!(said.messages("kubevirt-gate", "ok").len(), 1);

    // A token that is bound to nothing; text for people.
    let directory = tempfile::tempdir()?;
    let kubeconfig = directory.path().join("kubeconfig");
    std::fs::write(&kubeconfig, control.kubeconfig(User::Admin).to_string())?;
    let said = doctor(&kubeconfig, &[&node.guest_socket()])?;
    let identity = said.messages("identity", "finding");
    ensure!(
        identity[0].contains("admin: the token is not bound to a node"),
        "{identity:?}"
    );
    let output = Command::new(static_program("dra-guest-relay")?)
        .args(["doctor", &node.guest_socket()])
        .arg(format!("--kubeconfig={}", kubeconfig.display()))
        .output()?;
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout)?;
    for words in [
        "FINDING  identity",
        "do: run the relay, and doctor, in a pod",
        "ok       rights",
    ] {
        ensure!(text.contains(words), "{words} is not in:\n{text}");
    }
    Ok(())
}
