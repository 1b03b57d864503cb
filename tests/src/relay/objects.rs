//! Objects as KubeVirt, the scheduler and the controllers of a cluster make them.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::cluster::ControlPlane;
use crate::wait;

/// Where claims of the namespace `default` are.
pub const CLAIMS: &str = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
/// Where pods of the namespace `default` are.
pub const PODS: &str = "/api/v1/namespaces/default/pods";
/// The driver of all devices.
pub const DRIVER: &str = "sriov.example.com";

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

/// A VM that runs on a node; its status is not there yet.
pub fn vm(name: &str, node: &str) -> Value {
    json!({
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
        "metadata": {"name": name, "labels": {"kubevirt.io/nodeName": node}},
        "spec": {"domain": {"devices": {"autoattachVSOCK": true}}},
    })
}

/// The virt-launcher pod of a VM with claims from templates.
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
///
/// # Errors
/// When it has.
pub fn is_running(control: &ControlPlane, pod: &str) -> Result<()> {
    let pod = control.admin().get(&format!("{PODS}/{pod}"))?.object()?;
    let phase = pod.pointer("/status/phase").and_then(Value::as_str);
    ensure!(phase == Some("Running"), "{pod}");
    Ok(())
}

/// Installs KubeVirt's configuration without feature gates, and gives its path.
///
/// # Errors
/// When the API server refuses it.
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
    wait::until("KubeVirt's configuration", wait::PATIENCE, || {
        Ok((admin.create(path, &object)?.status == 201).then_some(()))
    })?;
    Ok(format!("{path}/kubevirt"))
}

/// The rules that the relay needs, those for Events too.
pub fn rules() -> Vec<Value> {
    vec![
        json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]}),
        json!({"apiGroups": ["kubevirt.io"], "resources": ["virtualmachineinstances"], "verbs": ["list", "watch"]}),
        json!({"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims"], "verbs": ["get"]}),
        json!({"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims/status"], "verbs": ["patch"]}),
        json!({
            "apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims/driver"],
            "verbs": ["associated-node:patch"], "resourceNames": [DRIVER],
        }),
        json!({"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]}),
    ]
}
