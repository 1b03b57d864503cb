//! Objects as KubeVirt, the scheduler and the controllers of a cluster make them.

use std::time::Duration;

use anyhow::{Result, ensure};
use dra_guest_tests::cluster::ControlPlane;
use dra_guest_tests::wait;
use serde_json::{Value, json};

pub const CLAIMS: &str = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
pub const VMS: &str = "/apis/kubevirt.io/v1/namespaces/default/virtualmachineinstances";
pub const PODS: &str = "/api/v1/namespaces/default/pods";
pub const DRIVER: &str = "sriov.example.com";

/// Installs a kind of the group and name of KubeVirt's, with the fields that the relay reads.
pub fn install_kubevirt(control: &ControlPlane) -> Result<()> {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let status = json!({"type": "object", "properties": {
        "phase": {"type": "string"}, "VSOCKCID": {"type": "integer", "format": "int32"},
    }});
    control
        .admin()
        .create(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            &json!({
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": "virtualmachineinstances.kubevirt.io"},
                "spec": {
                    "group": "kubevirt.io", "scope": "Namespaced",
                    "names": {
                        "kind": "VirtualMachineInstance", "plural": "virtualmachineinstances",
                        "singular": "virtualmachineinstance",
                    },
                    "versions": [{
                        "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                        "schema": {"openAPIV3Schema": {
                            "type": "object", "properties": {"spec": any, "status": status},
                        }},
                    }],
                },
            }),
        )?
        .object()?;
    wait::until("KubeVirt's kind is served", Duration::from_secs(30), || {
        let served = control.admin().get(VMS)?.status == 200;
        Ok(served.then_some(()))
    })
}

/// A claim with one device, which has the claim's name.
pub fn claim(name: &str) -> Value {
    let exactly = json!({"deviceClassName": "vf", "allocationMode": "ExactCount", "count": 1});
    json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name},
        "spec": {"devices": {"requests": [{"name": "vf", "exactly": exactly}]}},
    })
}

/// What the scheduler writes on it.
pub fn allocation(claim: &str, node: &str) -> Value {
    let field = json!({"key": "metadata.name", "operator": "In", "values": [node]});
    json!({"allocation": {
        "devices": {"results": [
            {"request": "vf", "driver": DRIVER, "pool": "p", "device": claim},
        ]},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
    }})
}

pub fn vm(name: &str, node: &str) -> Value {
    json!({
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
        "metadata": {"name": name, "labels": {"kubevirt.io/nodeName": node}},
        "spec": {"domain": {"devices": {"autoattachVSOCK": true}}},
    })
}

pub fn pod(name: &str, node: &str, vm_uid: &Value, claims: &[&str]) -> Value {
    let templates: Vec<Value> = claims
        .iter()
        .map(|claim| json!({"name": claim, "resourceClaimTemplateName": "of-the-vm"}))
        .collect();
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "labels": {"kubevirt.io": "virt-launcher", "kubevirt.io/created-by": vm_uid}},
        "spec": {
            "nodeName": node, "resourceClaims": templates,
            "containers": [{"name": "compute", "image": "none"}],
        },
    })
}

/// What the controller of claims writes on it.
pub fn claim_statuses(claims: &[&str]) -> Vec<Value> {
    claims
        .iter()
        .map(|claim| json!({"name": claim, "resourceClaimName": claim}))
        .collect()
}

/// Holds that a pod has not ended.
pub fn is_running(control: &ControlPlane, pod: &str) -> Result<()> {
    let pod = control.admin().get(&format!("{PODS}/{pod}"))?.object()?;
    ensure!(pod["status"]["phase"] == "Running", "{pod}");
    Ok(())
}

/// Installs KubeVirt's configuration without feature gates, and gives its path.
pub fn install_kubevirt_configuration(control: &ControlPlane) -> Result<String> {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let admin = control.admin();
    admin
        .create(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            &json!({
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": "kubevirts.kubevirt.io"},
                "spec": {
                    "group": "kubevirt.io", "scope": "Namespaced",
                    "names": {"kind": "KubeVirt", "plural": "kubevirts", "singular": "kubevirt"},
                    "versions": [{
                        "name": "v1", "served": true, "storage": true,
                        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": any}}},
                    }],
                },
            }),
        )?
        .object()?;
    let path = "/apis/kubevirt.io/v1/namespaces/default/kubevirts";
    let object = json!({
        "apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "metadata": {"name": "kubevirt"},
        "spec": {"configuration": {"developerConfiguration": {"featureGates": []}}},
    });
    wait::until("KubeVirt's configuration", Duration::from_secs(30), || {
        Ok((admin.create(path, &object)?.status == 201).then_some(()))
    })?;
    Ok(format!("{path}/kubevirt"))
}
