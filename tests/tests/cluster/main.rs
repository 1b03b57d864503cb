//! The whole way on a node of Kubernetes itself: the scheduler allocates what a driver on upstream's
//! library publishes, the kubelet has it prepared, and containerd starts the pod with the hook.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

mod killed;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use dra_guest_tests::cluster::{Cluster, NODE, ServiceAccount};
use dra_guest_tests::command::stdout_of;
use dra_guest_tests::process::Process;
use dra_guest_tests::programs::{cdi_spec, workspace};
use dra_guest_tests::suite::{self, Shared};
use dra_guest_tests::wait;
use serde_json::{Value, json};

const DRIVER: &str = "sriov.example.com";
const POD: &str = "/api/v1/namespaces/default/pods/virt-launcher-vm";
const CLAIMS: &str = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";

static BED: Shared<Bed> = Shared::new(Bed::start);

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(killed::ARGUMENT) {
        let Err(error) = killed::run_until_killed();
        eprintln!("{error:#}");
        return ExitCode::FAILURE;
    }
    suite::run(
        &BED,
        &[
            ("a_pod_with_a_claim_runs_on_the_node", a_pod_runs),
            ("its_vm_mount_has_the_document", the_document),
            (
                "a_token_of_the_kubelets_is_good_for_the_nodes_claims",
                a_token_of_the_kubelets,
            ),
            ("an_ended_pod_leaves_no_cdi_spec", an_ended_pod),
            (
                "a_killed_test_leaves_nothing_running",
                killed::leaves_nothing_running,
            ),
        ],
    )
}

/// A cluster with a driver that asks for the hook.
struct Bed {
    _driver: Process,
    cluster: Cluster,
}

impl Bed {
    fn start() -> Result<Self> {
        let cluster = Cluster::start("cluster")?;
        fs::write(cluster.node().cdi().join("dra-guest-vm.json"), cdi_spec()?)?;
        let devices = json!([{
            "name": "0000-3b-02-1",
            "attributes": {
                "resource.kubernetes.io/pciBusID": {"string": "0000:3b:02.1"},
                "resource.kubernetes.io/pcieRoot": {"string": "pci0000:3a"},
                "numaNode": {"int": 1},
            },
            "networkData": {
                "interfaceName": "net1", "hardwareAddress": "02:00:00:4e:92:87",
                "ips": ["192.0.2.5/24", "2001:db8::5/64"],
            },
        }]);
        let driver = cluster.start_driver(DRIVER, &devices, &["dra-guest/vm=attributes"])?;
        Ok(Self {
            _driver: driver,
            cluster,
        })
    }

    fn get(&self, path: &str) -> Result<Value> {
        self.cluster.admin().get(path)?.object()
    }

    /// The claim that was made for the pod.
    fn claim(&self) -> Result<Value> {
        let pod = self.get(POD)?;
        let name = pod["status"]["resourceClaimStatuses"][0]["resourceClaimName"]
            .as_str()
            .context("the pod has no claim yet")?;
        self.get(&format!("{CLAIMS}/{name}"))
    }

    /// The VM mount, as the machine sees it.
    fn vm_mount(&self) -> Result<PathBuf> {
        let pod = self.get(POD)?;
        let uid = pod["metadata"]["uid"].as_str().context("the pod's uid")?;
        Ok(self
            .cluster
            .node()
            .kubelet()
            .join("pods")
            .join(uid)
            .join("volumes/kubernetes.io~empty-dir/device-attributes"))
    }
}

fn a_pod_runs(bed: &mut Bed) -> Result<()> {
    let rule = |resource: &str, verb: &str| json!({"apiGroups": ["resource.k8s.io"], "resources": [resource], "verbs": [verb]});
    let rules = [
        rule("resourceclaims/status", "patch"),
        rule("resourceclaims/driver", "associated-node:patch"),
    ];
    ServiceAccount::create(bed.cluster.admin(), "writer", &rules)?;
    let objects = workspace().join("tests/tests/cluster/objects.yaml");
    stdout_of(bed.cluster.kubectl()?.args(["create", "-f"]).arg(objects))?;
    wait::until("the pod runs", wait::PATIENCE, || {
        Ok((bed.get(POD)?["status"]["phase"] == "Running").then_some(()))
    })?;

    let claim = bed.claim()?;
    let allocation = &claim["status"]["allocation"];
    let result = &allocation["devices"]["results"][0];
    assert_eq!(
        [
            &result["driver"],
            &result["pool"],
            &result["device"],
            &result["request"]
        ],
        [DRIVER, NODE, "0000-3b-02-1", "vf"]
    );
    // What makes a token of a pod on the node good for the claim.
    let field = json!({"key": "metadata.name", "operator": "In", "values": [NODE]});
    assert_eq!(
        allocation["nodeSelector"],
        json!({"nodeSelectorTerms": [{"matchFields": [field]}]})
    );
    assert_eq!(
        claim["status"]["reservedFor"][0]["name"],
        "virt-launcher-vm"
    );
    Ok(())
}

fn the_document(bed: &mut Bed) -> Result<()> {
    let claim = bed.claim()?;
    let pod = bed.get(POD)?;
    let text = fs::read_to_string(bed.vm_mount()?.join("device-attributes.json"))?;
    let document: Value = serde_json::from_str(&text)?;
    assert_eq!(
        document["pod"],
        json!({"namespace": "default", "name": "virt-launcher-vm", "uid": pod["metadata"]["uid"]})
    );
    let device = &document["devices"][0];
    for key in ["namespace", "name", "uid"] {
        assert_eq!(device["claim"][key], claim["metadata"][key], "{key}");
    }
    assert_eq!(device["claim"]["podClaimName"], "nic");
    assert_eq!(device["request"], "vf");
    assert_eq!(
        device["host"],
        json!({"pciAddress": "0000:3b:02.1", "pcieRoot": "pci0000:3a", "numaNode": 1})
    );
    assert_eq!(
        device["network"],
        json!({
            "interfaceName": "net1", "macAddress": "02:00:00:4e:92:87",
            "ipAddresses": ["192.0.2.5/24", "2001:db8::5/64"],
        })
    );
    Ok(())
}

/// A token that the kubelet got for a pod says which node that is on, and so the API server lets its
/// holder write devices of this node's claims with `associated-node:patch` alone.
fn a_token_of_the_kubelets(bed: &mut Bed) -> Result<()> {
    let pod = bed.get(POD)?;
    let uid = pod["metadata"]["uid"].as_str().context("the pod's uid")?;
    let volume = "volumes/kubernetes.io~projected/token/token";
    let path = Path::new("/var/lib/kubelet/pods").join(uid).join(volume);
    let token = bed.cluster.node().read(&path)?;
    let claim = bed.claim()?;
    let name = claim["metadata"]["name"].as_str().context("its name")?;
    let condition = json!({
        "type": "dra-guest/Ready", "status": "True", "reason": "Configured", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    let device = json!({
        "driver": DRIVER, "pool": NODE, "device": "0000-3b-02-1", "conditions": [condition],
    });
    let written = bed
        .cluster
        .admin()
        .with_token(&token)
        .apply(
            &format!("{CLAIMS}/{name}/status"),
            "dra-guest-relay",
            &json!({
                "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
                "metadata": {"name": name}, "status": {"devices": [device]},
            }),
        )?
        .object()?;
    assert_eq!(written["status"]["devices"], json!([device]));
    Ok(())
}

fn an_ended_pod(bed: &mut Bed) -> Result<()> {
    bed.cluster.admin().delete(POD)?.object()?;
    wait::until("the pod has gone", wait::PATIENCE, || {
        Ok((bed.cluster.admin().get(POD)?.status == 404).then_some(()))
    })?;
    wait::until("the claim has gone", wait::PATIENCE, || {
        let claims = bed.get(CLAIMS)?;
        Ok((claims["items"] == json!([])).then_some(()))
    })?;
    let specs: Vec<_> = fs::read_dir(bed.cluster.node().cdi())?
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(specs, ["dra-guest-vm.json"]);
    Ok(())
}
