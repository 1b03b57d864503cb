//! KubeVirt: its API, its feature gate, and the VMs of the node with their pods.

use std::collections::{BTreeMap, BTreeSet};

use kube::api::{ListParams, Object};
use kube::{Api, Client};
use serde::Deserialize;

use super::ask::ask;
use crate::cluster::index::{Entry, Vm};
use crate::cluster::objects::{self, PodObject, VmObject};
use crate::cluster::watch;
use crate::store::ClaimName;
use examination::Examination;

/// How many VMs are named.
const NAMED: usize = 5;
/// The feature gate, as KubeVirt's CR has it.
const GATE: &str = "VSOCK";

/// What runs on the node.
#[derive(Debug, Default)]
pub struct OfNode {
    /// The claims of virt-launcher pods.
    pub claims: BTreeSet<ClaimName>,
}

/// Looks at KubeVirt, and finds the node's claims.
pub async fn examine(client: &Client, node: Option<&str>, examination: &mut Examination) -> OfNode {
    let name = "kubevirt";
    let served = ask(client.list_api_group_resources("kubevirt.io/v1")).await;
    let is_served = served.as_ref().is_ok_and(|served| {
        let mut resources = served.resources.iter();
        resources.any(|resource| resource.name == "virtualmachineinstances")
    });
    if !is_served {
        let words = served.map_or_else(
            |words| words,
            |_| "the kind is not among its own".to_owned(),
        );
        examination.finding(
            name,
            format!("VirtualMachineInstances of kubevirt.io/v1 are not served: {words}"),
            "install KubeVirt",
        );
        return OfNode::default();
    }
    examination.ok(name, "VirtualMachineInstances of kubevirt.io/v1 are served");
    gate(client, examination).await;
    let Some(node) = node else {
        examination.unknown("vms", "no node is known: name it with --node-name");
        return OfNode::default();
    };
    match of_node(client, node).await {
        Ok((vms, claims_of)) => {
            vsock(&vms, &claims_of, examination);
            OfNode {
                claims: claims_of.into_values().flatten().collect(),
            }
        }
        Err(words) => {
            examination.unknown("vms", words);
            OfNode::default()
        }
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct KubeVirtSpec {
    configuration: Configuration,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Configuration {
    developer_configuration: DeveloperConfiguration,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct DeveloperConfiguration {
    feature_gates: Vec<String>,
}

/// The relay itself has no right to read it, so it may not be known.
async fn gate(client: &Client, examination: &mut Examination) {
    let name = "kubevirt-gate";
    let api = Api::<Object<KubeVirtSpec, kube::api::NotUsed>>::all_with(
        client.clone(),
        &objects::kubevirts(),
    );
    let listed = match ask(api.list(&ListParams::default())).await {
        Ok(listed) => listed,
        Err(words) => {
            return examination.unknown(
                name,
                format!("KubeVirt's configuration cannot be read here: {words}"),
            );
        }
    };
    let gates: Vec<&String> = listed
        .items
        .iter()
        .flat_map(|one| &one.spec.configuration.developer_configuration.feature_gates)
        .collect();
    if gates.iter().any(|gate| *gate == GATE) {
        examination.ok(name, format!("the feature gate {GATE} is on"));
    } else {
        examination.finding(
            name,
            format!("the feature gate {GATE} is not on: no VM is given a CID"),
            "add it to spec.configuration.developerConfiguration.featureGates of the KubeVirt object",
        );
    }
}

type ClaimsOf = BTreeMap<String, BTreeSet<ClaimName>>;

/// The VMs of the node, and the claims of their pods by the UID of the VM.
async fn of_node(client: &Client, node: &str) -> Result<(Vec<Vm>, ClaimsOf), String> {
    let api = Api::<PodObject>::all_with(client.clone(), &objects::pods());
    let asked = ListParams::default()
        .fields(&watch::pods_of_node(node))
        .labels(watch::LAUNCHER);
    let pods = ask(api.list(&asked)).await?;
    let mut claims_of = ClaimsOf::new();
    for pod in &pods.items {
        if let Some(Entry::Pod(pod)) = objects::pod(pod) {
            let claims = claims_of.entry(pod.vm.to_string()).or_default();
            claims.extend(pod.claims.into_keys());
        }
    }
    let api = Api::<VmObject>::all_with(client.clone(), &objects::vms());
    let asked = ListParams::default().labels(&watch::vms_of_node(node));
    let vms = ask(api.list(&asked)).await?;
    let vms = vms.items.iter().filter_map(|vm| match objects::vm(vm) {
        Some(Entry::Vm(vm)) => Some(vm),
        _ => None,
    });
    Ok((vms.collect(), claims_of))
}

/// A VM without claims needs no vsock.
fn vsock(vms: &[Vm], claims_of: &ClaimsOf, examination: &mut Examination) {
    let name = "vms";
    let has_claims = |vm: &&Vm| {
        let claims = claims_of.get(vm.uid.as_str());
        claims.is_some_and(|claims| !claims.is_empty())
    };
    let with_claims: Vec<&Vm> = vms.iter().filter(has_claims).collect();
    let deaf: Vec<String> = with_claims
        .iter()
        .filter(|vm| vm.cid.is_none())
        .map(|vm| format!("{}/{}", vm.namespace, vm.name))
        .collect();
    if deaf.is_empty() {
        examination.ok(
            name,
            format!(
                "{} of {} VMs of this node have claims, and each of them has a CID",
                with_claims.len(),
                vms.len()
            ),
        );
        return;
    }
    let more = deaf.len().saturating_sub(NAMED);
    let and_more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    let named: Vec<&str> = deaf.iter().take(NAMED).map(String::as_str).collect();
    examination.finding(
        name,
        format!(
            "VMs with claims that have no status.VSOCKCID, so that their guests cannot report: {}{and_more}",
            named.join(", ")
        ),
        format!(
            "set spec.template.spec.domain.devices.autoattachVSOCK: true in the VirtualMachine, with KubeVirt's feature gate \
             {GATE} on, and start the VM anew"
        ),
    );
}
