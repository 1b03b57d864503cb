//! KubeVirt's kind of VMs, as far as this project reads it: no more of KubeVirt is needed, nor there.

use anyhow::Result;
use serde_json::json;

use super::client::Client;
use crate::wait;

/// Where VMs of the namespace `default` are.
pub const VMS: &str = "/apis/kubevirt.io/v1/namespaces/default/virtualmachineinstances";

/// Installs a kind of KubeVirt's group and name, with the fields that are read: any `spec`, and of the
/// status `phase` and `VSOCKCID`.
///
/// # Errors
/// When the API server refuses it, or does not serve it in [`wait::PATIENCE`].
pub fn install_kubevirt(admin: &Client) -> Result<()> {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let status = json!({"type": "object", "properties": {
        "phase": {"type": "string"}, "VSOCKCID": {"type": "integer", "format": "int32"},
    }});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "virtualmachineinstances.kubevirt.io"},
        "spec": {
            "group": "kubevirt.io", "scope": "Namespaced",
            "names": {
                "kind": "VirtualMachineInstance", "plural": "virtualmachineinstances",
                "singular": "virtualmachineinstance", "shortNames": ["vmi", "vmis"],
            },
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {
                    "type": "object", "properties": {"spec": any, "status": status},
                }},
            }],
        },
    });
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    admin.create(definitions, &definition)?.object()?;
    wait::until("KubeVirt's kind is served", wait::PATIENCE, || {
        Ok((admin.get(VMS)?.status == 200).then_some(()))
    })
}
