//! The document as an annotation of the pod, on a node of Kubernetes itself: from the driver's metadata files to the file
//! of a downwardAPI volume, under the role and the policy of `deploy/annotation`.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub
)]

mod account;
mod policy;
mod relay;
mod sources;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context as _, Result};
use dra_guest_tests::cluster::{Client, Cluster};
use dra_guest_tests::command::stdout_of;
use dra_guest_tests::process::Process;
use dra_guest_tests::suite::{self, Shared};
use dra_guest_tests::wait;
use serde_json::{Value, json};

use relay::Relay;

pub const ANNOTATION: &str = "dra-guest/device-attributes";
pub const PODS: &str = "/api/v1/namespaces/default/pods";
const CLAIMS: &str = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
const DRIVER: &str = "sriov.example.com";
const VM: &str = "virt-launcher-vm";
const OTHER: &str = "virt-launcher-other";

static BED: Shared<Bed> = Shared::new(Bed::start);

fn main() -> ExitCode {
    suite::run(
        &BED,
        &[
            ("the_component_fits_the_daemon_set", component),
            (
                "the_relay_is_held_to_one_annotation_on_its_node",
                policy::holds_to_one_annotation,
            ),
            (
                "the_relay_may_do_nothing_else_with_pods",
                policy::leaves_the_rest_to_nobody,
            ),
            ("the_document_reaches_the_volume", the_document),
            ("an_update_of_the_driver_follows", an_update),
            ("an_annotation_that_was_changed_comes_back", comes_back),
            ("a_broken_file_hurts_no_other_pod", sources::a_broken_file),
            (
                "without_metadata_the_claim_and_the_slice_say_it",
                sources::from_the_claim,
            ),
        ],
    )
}

#[derive(Debug)]
pub struct Bed {
    driver: Process,
    relay: Option<Relay>,
    daemon_set: Value,
    pub cluster: Cluster,
}

impl Bed {
    fn start() -> Result<Self> {
        let cluster = Cluster::start("annotation")?;
        let driver = cluster.start_driver(DRIVER, &devices("192.0.2.5/24"), &[])?;
        let daemon_set = account::deploy(&cluster)?;
        Ok(Self {
            driver,
            relay: None,
            daemon_set,
            cluster,
        })
    }

    fn get(&self, path: &str) -> Result<Value> {
        self.cluster.admin().get(path)?.object()
    }

    fn pod(&self, name: &str) -> Result<Value> {
        self.get(&format!("{PODS}/{name}"))
    }

    /// Waits until a pod's annotation is as it should be, and gives it.
    fn annotation(&self, pod: &str, wanted: impl Fn(&Value) -> bool) -> Result<String> {
        let last = std::cell::RefCell::new(Value::Null);
        wait::until(&format!("the annotation of {pod}"), wait::PATIENCE, || {
            let pod = self.pod(pod)?;
            last.replace(pod["metadata"]["annotations"][ANNOTATION].clone());
            let text = last.borrow().as_str().map(str::to_owned);
            let document = text.as_deref().map(serde_json::from_str).transpose()?;
            Ok(text.filter(|_| document.is_some_and(|document| wanted(&document))))
        })
        .with_context(|| format!("it is {}; the relay says: {}", last.borrow(), self.log()))
    }

    fn log(&self) -> String {
        self.relay.as_ref().map(Relay::log).unwrap_or_default()
    }

    /// The file of a pod's downwardAPI volume, by its path on the node: a tmpfs that only the node sees.
    fn file(&self, pod: &str) -> Result<PathBuf> {
        let pod = self.pod(pod)?;
        let uid = pod["metadata"]["uid"].as_str().context("the pod's uid")?;
        Ok(Path::new("/var/lib/kubelet/pods")
            .join(uid)
            .join("volumes/kubernetes.io~downward-api/device-attributes/device-attributes.json"))
    }

    fn wait_for_file(&self, pod: &str, text: &str) -> Result<()> {
        let path = self.file(pod)?;
        wait::until("the file of the volume follows", wait::PATIENCE, || {
            Ok((self.cluster.node().read(&path)? == text).then_some(()))
        })
    }

    /// The metadata file of a pod's claim, on the machine.
    fn metadata(&self, pod: &str) -> Result<PathBuf> {
        let pod = self.pod(pod)?;
        let claim = pod["status"]["resourceClaimStatuses"][0]["resourceClaimName"]
            .as_str()
            .context("the pod's claim")?;
        Ok(self
            .plugins()
            .join(DRIVER)
            .join("dra-device-metadata")
            .join(format!("default_{claim}"))
            .join("vf/metadata.json"))
    }

    fn plugins(&self) -> PathBuf {
        self.cluster.node().kubelet().join("plugins")
    }

    fn start_relay(&mut self, arguments: &[String]) -> Result<()> {
        // Another cannot be beside it.
        self.relay = None;
        self.relay = Some(Relay::start(&self.cluster, arguments)?);
        Ok(())
    }
}

/// Two functions; the first has that address.
fn devices(address: &str) -> Value {
    let device = |name: &str, bus: &str, network: Value| {
        json!({
            "name": name,
            "attributes": {
                "resource.kubernetes.io/pciBusID": {"string": bus},
                "resource.kubernetes.io/pcieRoot": {"string": "pci0000:3a"},
                "numaNode": {"int": 1},
            },
            "networkData": network,
        })
    };
    let network = |mac: &str, address: &str| json!({"interfaceName": "net1", "hardwareAddress": mac, "ips": [address]});
    json!([
        device(
            "0000-3b-02-1",
            "0000:3b:02.1",
            network("02:00:00:4e:92:87", address)
        ),
        device(
            "0000-3b-02-2",
            "0000:3b:02.2",
            network("02:00:00:4e:92:88", address)
        ),
    ])
}

fn component(bed: &mut Bed) -> Result<()> {
    let pod = bed.daemon_set.pointer("/spec/template/spec");
    let pod = pod.context("the pod of the set")?;
    let container = &pod["containers"][0];
    let last = |list: &Value| list.as_array().and_then(|list| list.last().cloned());
    let arguments = container["args"].as_array().context("its arguments")?;
    for argument in ["--annotate-pods", "--metadata-dir=/var/lib/kubelet/plugins"] {
        assert!(arguments.contains(&argument.into()), "{arguments:?}");
    }
    let mount =
        json!({"name": "plugins", "mountPath": "/var/lib/kubelet/plugins", "readOnly": true});
    assert_eq!(last(&container["volumeMounts"]), Some(mount));
    let directory = json!({"path": "/var/lib/kubelet/plugins", "type": "Directory"});
    let volume = json!({"name": "plugins", "hostPath": directory});
    assert_eq!(last(&pod["volumes"]), Some(volume));
    assert_eq!(pod["securityContext"]["supplementalGroups"], json!([0]));
    Ok(())
}

/// Creates what is in `objects.yaml`, the pod twice.
fn create_objects(admin: &Client) -> Result<()> {
    let objects: Vec<Value> = serde_saphyr::from_multiple(include_str!("objects.yaml"))?;
    for object in objects {
        match object["kind"].as_str().unwrap_or_default() {
            "Pod" => {
                admin.create(PODS, &object)?.object()?;
                let mut other = object;
                other["metadata"]["name"] = OTHER.into();
                admin.create(PODS, &other)?.object()?;
            }
            "DeviceClass" => {
                let path = "/apis/resource.k8s.io/v1/deviceclasses";
                admin.create(path, &object)?.object()?;
            }
            _ => {
                let path = CLAIMS.replace("resourceclaims", "resourceclaimtemplates");
                admin.create(&path, &object)?.object()?;
            }
        }
    }
    Ok(())
}

fn the_document(bed: &mut Bed) -> Result<()> {
    create_objects(bed.cluster.admin())?;
    let plugins = format!("--metadata-dir={}", bed.plugins().display());
    bed.start_relay(&["--annotate-pods".to_owned(), plugins])?;
    // Until the driver has prepared the claim, the annotation says what the claim does.
    let prepared = |document: &Value| document["devices"][0]["claim"]["generation"] == 1;
    let text = bed.annotation(VM, prepared)?;
    let document: Value = serde_json::from_str(&text)?;
    let pod = bed.pod(VM)?;
    assert_eq!(
        document["pod"],
        json!({"namespace": "default", "name": VM, "uid": pod["metadata"]["uid"]})
    );
    let device = &document["devices"][0];
    assert_eq!(device["claim"]["podClaimName"], "nic");
    assert_eq!(device["request"], "vf");
    assert_eq!(device["host"]["numaNode"], 1);
    assert_eq!(device["network"]["ipAddresses"], json!(["192.0.2.5/24"]));

    wait::until("the pod runs", wait::PATIENCE, || {
        Ok((bed.pod(VM)?["status"]["phase"] == "Running").then_some(()))
    })?;
    bed.wait_for_file(VM, &text)?;
    // Another pod has a document of its own.
    let other: Value = serde_json::from_str(&bed.annotation(OTHER, prepared)?)?;
    assert_eq!(other["pod"]["name"], OTHER);
    assert_ne!(other["devices"][0]["device"], device["device"]);

    // Who owns what: the annotation is the manager's, and nothing else is.
    let managed = pod["metadata"]["managedFields"].as_array().unwrap();
    let ours = managed
        .iter()
        .find(|entry| entry["manager"] == "dra-guest-relay-annotations")
        .context("the manager of the annotation")?;
    assert_eq!(ours["operation"], "Apply");
    assert_eq!(
        ours["fieldsV1"],
        json!({"f:metadata": {"f:annotations": {format!("f:{ANNOTATION}"): {}}}})
    );
    Ok(())
}

fn an_update(bed: &mut Bed) -> Result<()> {
    let list = bed.cluster.driver_devices(DRIVER);
    std::fs::write(&list, devices("192.0.2.77/24").to_string())?;
    let process = bed.driver.id().to_string();
    stdout_of(Command::new("kill").args(["-HUP", &process]))?;
    let text = bed.annotation(VM, |document| {
        document["devices"][0]["claim"]["generation"] == 2
    })?;
    bed.driver.check()?;
    assert!(text.contains("192.0.2.77/24"), "{text}");
    // The other pod's may come a look later.
    bed.annotation(OTHER, |document| {
        document["devices"][0]["claim"]["generation"] == 2
    })?;
    bed.wait_for_file(VM, &text)?;
    // What does not change is not written again: the next looks at the files find nothing to do.
    // A pod has its annotation a moment before the relay says so: two pods, twice each.
    let writes = || bed.log().matches("annotated").count();
    wait::until("the relay says what it wrote", wait::PATIENCE, || {
        Ok((writes() >= 4).then_some(()))
    })?;
    let before = writes();
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(writes(), before, "{}", bed.log());
    Ok(())
}

fn comes_back(bed: &mut Bed) -> Result<()> {
    let text = bed.annotation(VM, |_| true)?;
    let gone = json!({"metadata": {"annotations": {ANNOTATION: null}}});
    let path = format!("{PODS}/{VM}");
    let merge = "application/merge-patch+json";
    bed.cluster.admin().patch(&path, merge, &gone)?.object()?;
    assert_eq!(bed.annotation(VM, |_| true)?, text);
    Ok(())
}
