//! The few fields of pods and VMs that the relay reads, and where objects are.

use std::collections::{BTreeMap, BTreeSet};

use device_attributes::Name;
use kube::api::{ApiResource, NotUsed, Object, ObjectMeta};
use serde::Deserialize;

use super::claim_status::ClaimStatus;
use super::index::{Entry, Pod, Vm};
use super::requests::Requests;
use crate::store::ClaimName;

/// The label of a virt-launcher pod that has the UID of its VM.
const CREATED_BY: &str = "kubevirt.io/created-by";
/// CIDs below are not of guests (vsock(7)).
const FIRST_CID: u32 = 3;

/// A virt-launcher pod.
pub type PodObject = Object<PodSpec, PodStatus>;
/// A `VirtualMachineInstance` of KubeVirt.
pub type VmObject = Object<NotUsed, VmStatus>;
/// A `ResourceClaim`.
pub type ClaimObject = Object<NotUsed, ClaimStatus>;

/// `spec` of a pod.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSpec {
    resource_claims: Option<Vec<PodClaim>>,
    containers: Option<Vec<Container>>,
    init_containers: Option<Vec<Container>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Container {
    resources: Option<Resources>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Resources {
    claims: Option<Vec<Reference>>,
}

/// A container's reference to a claim of its pod; without a request to the whole claim.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Reference {
    name: String,
    request: Option<String>,
}

/// `status` of a pod. Its `resourceClaimStatuses` has the claims that were made from templates;
/// `extendedResourceClaimStatus` has the one for extended resources (KEP-5004).
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodStatus {
    resource_claim_statuses: Option<Vec<PodClaim>>,
    extended_resource_claim_status: Option<PodClaim>,
}

/// The name of a claim, as it stands in the spec and in both places of the status.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodClaim {
    name: String,
    resource_claim_name: Option<String>,
}

/// `status` of a VM.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct VmStatus {
    /// A number as wide as the CRD admits: one odd VM is no reason to hear of none.
    #[serde(rename = "VSOCKCID")]
    cid: Option<serde_json::Number>,
}

fn resource(group: &str, version: &str, kind: &str, plural: &str) -> ApiResource {
    let api_version = if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    };
    ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version,
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    }
}

/// Pods.
pub fn pods() -> ApiResource {
    resource("", "v1", "Pod", "pods")
}

/// KubeVirt's VMs.
pub fn vms() -> ApiResource {
    resource(
        "kubevirt.io",
        "v1",
        "VirtualMachineInstance",
        "virtualmachineinstances",
    )
}

/// KubeVirt's own configuration.
pub fn kubevirts() -> ApiResource {
    resource("kubevirt.io", "v1", "KubeVirt", "kubevirts")
}

/// Claims.
pub fn claims() -> ApiResource {
    resource("resource.k8s.io", "v1", "ResourceClaim", "resourceclaims")
}

/// The UID of an object.
pub fn uid(metadata: &ObjectMeta) -> Option<Name> {
    metadata.uid.as_ref()?.parse().ok()
}

fn namespace(metadata: &ObjectMeta) -> Option<Name> {
    metadata.namespace.as_ref()?.parse().ok()
}

/// A pod for the index; `None` for one that is of no VM.
pub fn pod(object: &PodObject) -> Option<Entry> {
    let metadata = &object.metadata;
    let namespace = namespace(metadata)?;
    let of_spec = object.spec.resource_claims.iter().flatten();
    let status = object.status.as_ref();
    let of_status = status.map(|status| {
        let made = status.resource_claim_statuses.iter().flatten();
        made.chain(&status.extended_resource_claim_status)
    });
    let mut claims: BTreeMap<ClaimName, Requests> = BTreeMap::new();
    for claim in of_spec.chain(of_status.into_iter().flatten()) {
        let Some(Ok(name)) = claim.resource_claim_name.as_ref().map(|name| name.parse()) else {
            continue;
        };
        let requests = requests(&object.spec, &claim.name);
        let namespace = namespace.clone();
        claims
            .entry(ClaimName { namespace, name })
            .and_modify(|held| held.extend(&requests))
            .or_insert(requests);
    }
    Some(Entry::Pod(Pod {
        uid: uid(metadata)?,
        vm: metadata.labels.as_ref()?.get(CREATED_BY)?.parse().ok()?,
        namespace,
        claims,
    }))
}

/// The requests of a claim that the containers of a pod refer to. No reference is one to all: what else it may mean is
/// not known, and all is the careful reading.
fn requests(spec: &PodSpec, claim: &str) -> Requests {
    let containers = spec.containers.iter().chain(&spec.init_containers);
    let references: Vec<&Reference> = containers
        .flatten()
        .filter_map(|container| container.resources.as_ref()?.claims.as_ref())
        .flatten()
        .filter(|reference| reference.name == claim)
        .collect();
    let names: Option<BTreeSet<String>> = references
        .iter()
        .map(|reference| reference.request.clone().filter(|name| !name.is_empty()))
        .collect();
    names
        .filter(|names| !names.is_empty())
        .map_or(Requests::All, Requests::Some)
}

/// A VM for the index.
pub fn vm(object: &VmObject) -> Option<Entry> {
    let metadata = &object.metadata;
    let cid = object
        .status
        .as_ref()
        .and_then(|status| u32::try_from(status.cid.as_ref()?.as_u64()?).ok());
    Some(Entry::Vm(Vm {
        uid: uid(metadata)?,
        namespace: namespace(metadata)?,
        name: metadata.name.as_ref()?.parse().ok()?,
        cid: cid.filter(|cid| (FIRST_CID..u32::MAX).contains(cid)),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_claims_of_a_pod_stand_in_three_places() {
        let object: PodObject = serde_json::from_str(
            r#"{"apiVersion":"v1","kind":"Pod",
            "metadata":{"namespace":"lab","name":"virt-launcher-vm-x7k","uid":"p","labels":{"kubevirt.io/created-by":"v"}},
            "spec":{"containers":[{"resources":{"claims":[{"name":"nic","request":"vf"},{"name":"gpu"}]}},{}],"resourceClaims":[{"name":"gpu","resourceClaimName":"gpu-0"},{"name":"nic","resourceClaimTemplateName":"t"}]},
            "status":{"resourceClaimStatuses":[{"name":"nic","resourceClaimName":"nic-7xk2p"},{"name":"later"}],
              "extendedResourceClaimStatus":{"resourceClaimName":"ext-1","requestMappings":[]}}}"#,
        )
        .unwrap();
        let Some(Entry::Pod(pod)) = pod(&object) else {
            panic!("not a pod of a VM")
        };
        let claims: Vec<String> = pod
            .claims
            .iter()
            .map(|(claim, requests)| format!("{claim} {requests:?}"))
            .collect();
        assert_eq!(
            claims,
            [
                "lab/ext-1 All",
                "lab/gpu-0 All",
                "lab/nic-7xk2p Some({\"vf\"})"
            ]
        );
        assert_eq!((pod.uid.as_str(), pod.vm.as_str()), ("p", "v"));
    }

    #[test]
    fn what_is_no_pod_of_a_vm_is_passed_over() {
        let object: PodObject = serde_json::from_str(
            r#"{"metadata":{"namespace":"lab","name":"web","uid":"p","labels":{"app":"web"}},"spec":{},"status":null}"#,
        )
        .unwrap();
        assert_eq!(pod(&object), None);
    }

    #[test]
    fn a_vm_has_its_cid_when_it_runs() {
        for (status, cid) in [
            (r#"{"VSOCKCID":4711,"phase":"Running"}"#, Some(4711)),
            (r#"{"phase":"Pending"}"#, None),
            (r#"{"VSOCKCID":2}"#, None),
            (r#"{"VSOCKCID":4294967295}"#, None),
            (r#"{"VSOCKCID":-1}"#, None),
            (r#"{"VSOCKCID":1e300}"#, None),
            ("null", None),
        ] {
            let object: VmObject = serde_json::from_str(&format!(
                r#"{{"metadata":{{"namespace":"lab","name":"vm","uid":"v"}},"spec":{{"domain":{{}}}},"status":{status}}}"#
            ))
            .unwrap();
            let Some(Entry::Vm(vm)) = vm(&object) else {
                panic!("not a VM")
            };
            assert_eq!(vm.cid, cid, "{status}");
        }
    }
}
