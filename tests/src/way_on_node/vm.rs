//! A VM as KubeVirt has it: the object, and the pod that its controller makes for it.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::bed::{Bed, DEVICE, DRIVER};
use crate::cluster::{IMAGE, NODE, VMS};
use crate::guest::GUEST_CID;
use crate::wait;
use crate::way::VM_MOUNT;

const PODS: &str = "/api/v1/namespaces/default/pods";
const CLAIMS: &str = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
const NAME: &str = "vm";
/// The volume that the policy gives the pod, and that the guest shares.
const VOLUME: &str = "dra-guest-vm-mount";
/// The VM's own name for it, the guest's tag.
const FILE_SYSTEM: &str = "device-attributes";

/// By this the policy knows the pod of a VM that wants the directory; KubeVirt copies it from the VM.
const VM_MOUNT_LABEL: &str = "dra-guest/vm-mount";

/// A VM whose pod runs on the node.
#[derive(Debug)]
pub struct Vm {
    /// Its pod's name.
    pub pod: String,
    /// Its pod's UID.
    pub pod_uid: String,
    /// The name of the claim that was made for the pod.
    pub claim: String,
}

impl Vm {
    /// Creates the VM, with a vsock CID and on the node as the scheduler would choose it, and its pod;
    /// waits until the pod runs.
    ///
    /// # Errors
    /// When it does not; the error has its status.
    pub fn start(bed: &Bed) -> Result<Self> {
        let admin = bed.cluster.admin();
        let mut vm = admin.create(VMS, &object())?.object()?;
        let uid = vm
            .pointer("/metadata/uid")
            .cloned()
            .context("the VM's UID")?;
        let status = json!({"phase": "Scheduled", "VSOCKCID": GUEST_CID});
        vm.as_object_mut()
            .context("the VM")?
            .insert("status".to_owned(), status);
        admin
            .replace(&format!("{VMS}/{NAME}/status"), &vm)?
            .object()?;

        let pod = admin.create(PODS, &launcher(&uid))?.object()?;
        let name = text(&pod, "/metadata/name")?;
        let path = format!("{PODS}/{name}");
        let pod = wait::until("the VM's pod runs", wait::PATIENCE, || {
            let pod = bed.get(&path)?;
            let phase = pod.pointer("/status/phase").and_then(Value::as_str);
            if phase == Some("Failed") {
                let state = pod.pointer("/status/containerStatuses/0/state");
                bail!("it has failed: {}", state.unwrap_or(&pod));
            }
            Ok((phase == Some("Running")).then_some(pod))
        })?;
        Ok(Self {
            pod: name,
            pod_uid: text(&pod, "/metadata/uid")?,
            claim: text(&pod, "/status/resourceClaimStatuses/0/resourceClaimName")?,
        })
    }

    /// Ends the VM as KubeVirt's API knows it. Its pod is left to go when it goes.
    ///
    /// # Errors
    /// When the API server refuses.
    pub fn end(&self, bed: &Bed) -> Result<()> {
        let path = format!("{VMS}/{NAME}");
        bed.cluster.admin().delete(&path)?.object()?;
        Ok(())
    }

    /// Whether a pod of the VM that is created now gets the directory that the hook writes into.
    ///
    /// # Errors
    /// When the API server would refuse the pod.
    pub fn would_get_the_mount(bed: &Bed) -> Result<bool> {
        let path = format!("{PODS}?dryRun=All");
        let pod = launcher(&json!("00000000-0000-0000-0000-000000000000"));
        let pod = bed.cluster.admin().create(&path, &pod)?.object()?;
        let volumes = pod.pointer("/spec/volumes").and_then(Value::as_array);
        let mut volumes = volumes.into_iter().flatten();
        Ok(volumes.any(|volume| volume.get("name") == Some(&json!(VOLUME))))
    }

    /// The pod's emptyDir, as the machine sees it: no mount, but a directory of the kubelet's.
    pub fn vm_mount(&self, bed: &Bed) -> PathBuf {
        let pods = bed.cluster.node().kubelet().join("pods");
        pods.join(&self.pod_uid)
            .join("volumes/kubernetes.io~empty-dir")
            .join(VOLUME)
    }

    /// The document in it.
    pub fn document_file(&self, bed: &Bed) -> PathBuf {
        self.vm_mount(bed).join("device-attributes.json")
    }

    /// The claim as it stands.
    ///
    /// # Errors
    /// When it is not there.
    pub fn claim(&self, bed: &Bed) -> Result<Value> {
        bed.get(&format!("{CLAIMS}/{}", self.claim))
    }

    /// The condition `dra-guest/Ready` of the claim's device, if there is one.
    ///
    /// # Errors
    /// When the claim is not there.
    pub fn condition(&self, bed: &Bed) -> Result<Option<Value>> {
        let claim = self.claim(bed)?;
        let devices = claim.pointer("/status/devices").and_then(Value::as_array);
        let ours = json!({"driver": DRIVER, "pool": NODE, "device": DEVICE});
        Ok(devices
            .into_iter()
            .flatten()
            .filter(|device| {
                ["driver", "pool", "device"]
                    .iter()
                    .all(|key| device.get(key) == ours.get(key))
            })
            .filter_map(|device| device.get("conditions")?.as_array())
            .flatten()
            .find(|condition| condition.get("type") == Some(&json!("dra-guest/Ready")))
            .cloned())
    }

    /// Waits until the condition has this status and reason, and returns it.
    ///
    /// # Errors
    /// When it has not in two minutes; the error says what it is.
    pub fn wait_for(&self, bed: &Bed, status: &str, reason: &str) -> Result<Value> {
        wait::until(
            &format!("the claim says {status} {reason}"),
            wait::PATIENCE,
            || {
                let holds = |condition: &Value| {
                    condition.get("status") == Some(&json!(status))
                        && condition.get("reason") == Some(&json!(reason))
                };
                Ok(self.condition(bed)?.filter(holds))
            },
        )
        .with_context(|| match self.condition(bed) {
            Ok(Some(condition)) => format!("it is {condition}"),
            Ok(None) => "there is no condition dra-guest/Ready".to_owned(),
            Err(error) => format!("{error:#}"),
        })
    }
}

fn object() -> Value {
    json!({
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
        "metadata": {"name": NAME, "labels": {"kubevirt.io/nodeName": NODE, VM_MOUNT_LABEL: "true"}},
        "spec": {
            "domain": {"devices": {
                "autoattachVSOCK": true,
                "hostDevices": [{"name": "vf", "claimName": "nic", "requestName": "vf"}],
                "filesystems": [{"name": FILE_SYSTEM, "virtiofs": {}}],
            }},
            "resourceClaims": [{"name": "nic", "resourceClaimTemplateName": "vm-nic"}],
            "volumes": [{"name": FILE_SYSTEM, "containerPath": {"path": VM_MOUNT, "readOnly": true}}],
        },
    })
}

fn launcher(vm_uid: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "generateName": format!("virt-launcher-{NAME}-"),
            "labels": {
                "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": vm_uid,
                "vm.kubevirt.io/name": NAME, VM_MOUNT_LABEL: "true",
            },
        },
        "spec": {
            // The cluster has no network of its own.
            "hostNetwork": true,
            "automountServiceAccountToken": false,
            "restartPolicy": "Never",
            "resourceClaims": [{"name": "nic", "resourceClaimTemplateName": "vm-nic"}],
            "containers": [{
                "name": "compute", "image": IMAGE, "imagePullPolicy": "Never",
                "resources": {"claims": [{"name": "nic", "request": "vf"}]},
            }],
        },
    })
}

fn text(object: &Value, pointer: &str) -> Result<String> {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .map(str::to_owned)
        .with_context(|| format!("{pointer} of the VM's pod"))
}
