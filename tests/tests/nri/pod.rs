//! A virt-launcher pod with a claim and an emptyDir that is the VM mount.
#![allow(
    unreachable_pub,
    missing_debug_implementations,
    reason = "a module of one suite"
)]

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use dra_guest_tests::cluster::IMAGE;
use dra_guest_tests::wait;
use dra_guest_tests::way::VM_MOUNT;
use dra_guest_tests::way_on_node::Bed;
use serde_json::{Value, json};

const PODS: &str = "/api/v1/namespaces/default/pods";

/// A pod that runs.
pub struct Pod {
    pub name: String,
    pub uid: String,
    container: String,
}

impl Pod {
    /// Creates it and waits until it runs.
    pub fn start(bed: &Bed, name: &str, annotations: &Value) -> Result<Self> {
        let name = format!("virt-launcher-{name}");
        bed.cluster
            .admin()
            .create(PODS, &object(&name, annotations))?
            .object()?;
        let path = format!("{PODS}/{name}");
        let pod = wait::until("the pod runs", wait::PATIENCE, || {
            let pod = bed.get(&path)?;
            if pod["status"]["phase"] == "Failed" {
                bail!("it has failed: {}", pod["status"]);
            }
            Ok((pod["status"]["phase"] == "Running").then_some(pod))
        })
        .with_context(|| bed.plugin_log().unwrap_or_default())?;
        let text = |pointer: &str| -> Result<String> {
            let text = pod.pointer(pointer).and_then(Value::as_str);
            Ok(text
                .with_context(|| format!("{pointer} of the pod"))?
                .to_owned())
        };
        let container = text("/status/containerStatuses/0/containerID")?;
        let container = container.trim_start_matches("containerd://").to_owned();
        Ok(Self {
            uid: text("/metadata/uid")?,
            name,
            container,
        })
    }

    /// Removes it, and waits until it and its claim are gone.
    pub fn end(self, bed: &Bed) -> Result<()> {
        let path = format!("{PODS}/{}", self.name);
        bed.cluster.admin().delete(&path)?.object()?;
        wait::until("the pod has gone", wait::PATIENCE, || {
            Ok((bed.cluster.admin().get(&path)?.status == 404).then_some(()))
        })?;
        let claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
        wait::until("its claim has gone", wait::PATIENCE, || {
            Ok((bed.get(claims)?["items"] == json!([])).then_some(()))
        })
    }

    /// The document, as the machine sees it.
    pub fn document_file(&self, bed: &Bed) -> PathBuf {
        let pods = bed.cluster.node().kubelet().join("pods");
        pods.join(&self.uid)
            .join("volumes/kubernetes.io~empty-dir/vm/device-attributes.json")
    }

    /// How many createContainer hooks the runtime was given for it.
    pub fn hooks(&self, bed: &Bed) -> Result<usize> {
        let task = Path::new("/run/containerd/io.containerd.runtime.v2.task/k8s.io");
        let text = bed
            .cluster
            .node()
            .read(&task.join(&self.container).join("config.json"))?;
        let configuration: Value = serde_json::from_str(&text)?;
        let hooks = configuration
            .pointer("/hooks/createContainer")
            .and_then(Value::as_array);
        Ok(hooks.map_or(0, Vec::len))
    }
}

fn object(name: &str, annotations: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "annotations": annotations,
            // By the second the relay knows the VM.
            "labels": {"kubevirt.io": "virt-launcher", "kubevirt.io/created-by": "4b1c0b1e-0000-4000-8000-000000000000"},
        },
        "spec": {
            "hostNetwork": true,
            "automountServiceAccountToken": false,
            "restartPolicy": "Never",
            "resourceClaims": [{"name": "nic", "resourceClaimTemplateName": "vm-nic"}],
            "containers": [{
                "name": "compute", "image": IMAGE, "imagePullPolicy": "Never",
                "resources": {"claims": [{"name": "nic", "request": "vf"}]},
                "volumeMounts": [{"name": "vm", "mountPath": VM_MOUNT}],
            }],
            "volumes": [{"name": "vm", "emptyDir": {}}],
        },
    })
}
