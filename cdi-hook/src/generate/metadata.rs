//! The metadata files that a driver on upstream's library would write (KEP-5304): one for each request and
//! driver, each holding the same object in two versions, the newest first.

use std::collections::BTreeMap;

use device_attributes::{
    AttributeValue, Claim, Device, InterfaceAddress, InterfaceName, MacAddress, Name,
};
use serde::Serialize;

/// The versions that are written: that of Kubernetes 1.37, and the one that KubeVirt 1.9 reads.
const VERSIONS: [&str; 2] = [
    "metadata.resource.k8s.io/v1beta1",
    "metadata.resource.k8s.io/v1alpha1",
];
/// Where upstream mounts metadata files in a container.
const CONTAINER_DIRECTORY: &str = "/var/run/kubernetes.io/dra-device-attributes";
/// Upstream's count of updates starts here.
const GENERATION: i64 = 1;

/// One metadata file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MetadataFile {
    /// Its name in the directory of the claim on the node.
    pub(super) name: String,
    /// Its path in the container.
    pub(super) container_path: String,
    /// What it holds.
    pub(super) bytes: Vec<u8>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DeviceMetadata<'a> {
    kind: &'a str,
    api_version: &'a str,
    metadata: ObjectMeta<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pod_claim_name: Option<&'a str>,
    requests: [Request<'a>; 1],
}

#[derive(Clone, Copy, Serialize)]
struct ObjectMeta<'a> {
    name: &'a str,
    namespace: &'a str,
    uid: &'a str,
    generation: i64,
}

#[derive(Serialize)]
struct Request<'a> {
    name: &'a str,
    devices: &'a [Entry<'a>],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    driver: &'a str,
    pool: &'a str,
    name: &'a str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    attributes: &'a BTreeMap<String, AttributeValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    network_data: Option<NetworkData<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NetworkData<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    interface_name: Option<&'a InterfaceName>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    ips: &'a [InterfaceAddress],
    #[serde(skip_serializing_if = "Option::is_none")]
    hardware_address: Option<&'a MacAddress>,
}

/// The files of a claim's devices.
pub(super) fn files(claim: &Claim, uid: &str, devices: &[Device]) -> Vec<MetadataFile> {
    let mut groups: BTreeMap<(&str, &str), Vec<Entry<'_>>> = BTreeMap::new();
    for device in devices {
        let [request, driver, pool, name] = [
            &device.request,
            &device.driver,
            &device.pool,
            &device.device,
        ]
        .map(|name| name.as_ref().map_or("", |name| name.as_str()));
        groups.entry((request, driver)).or_default().push(Entry {
            driver,
            pool,
            name,
            attributes: &device.attributes,
            network_data: network_data(device),
        });
    }
    groups
        .into_iter()
        .map(|((request, driver), entries)| MetadataFile {
            name: format!("{}-{driver}.json", request.replace('/', "_")),
            container_path: container_path(claim, request, driver),
            bytes: stream(claim, uid, request, &entries),
        })
        .collect()
}

fn network_data(device: &Device) -> Option<NetworkData<'_>> {
    let network = &device.network;
    (!network.is_empty()).then(|| NetworkData {
        interface_name: network.interface_name.as_ref(),
        ips: &network.ip_addresses,
        hardware_address: network.mac_address.as_ref(),
    })
}

fn container_path(claim: &Claim, request: &str, driver: &str) -> String {
    let place = match &claim.pod_claim_name {
        Some(name) => format!("resourceclaimtemplates/{name}"),
        None => format!("resourceclaims/{}", claim.name),
    };
    // Of `request/subrequest` the path has the first.
    let request = request.split('/').next().unwrap_or(request);
    format!("{CONTAINER_DIRECTORY}/{place}/{request}/{driver}-metadata.json")
}

fn stream(claim: &Claim, uid: &str, request: &str, devices: &[Entry<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for api_version in VERSIONS {
        let object = DeviceMetadata {
            kind: "DeviceMetadata",
            api_version,
            metadata: ObjectMeta {
                name: claim.name.as_str(),
                namespace: claim.namespace.as_str(),
                uid,
                generation: GENERATION,
            },
            pod_claim_name: claim.pod_claim_name.as_ref().map(Name::as_str),
            requests: [Request {
                name: request,
                devices,
            }],
        };
        // Writing to memory cannot fail, and every map has string keys.
        bytes.extend(serde_json::to_vec_pretty(&object).unwrap_or_default());
        bytes.push(b'\n');
    }
    bytes
}
