//! What a node shows of Kubernetes: DRA drivers and their metadata, KubeVirt's pods, NRI.

use device_attributes::document::FILE_NAME;
use device_attributes::limits;
use serde::Deserialize;

use super::report::{Driver, KubeVirt, Nri};
use crate::node_root::NodeRoot;

/// The most pods, claims and requests that are looked at, each.
const ENTRIES: usize = 4096;
/// The volume that the policy of `deploy/vm-mount` adds.
const VM_MOUNT_VOLUME: &str = "dra-guest-vm-mount";

/// The DRA drivers below the kubelet's directory: those with a socket, or with metadata.
pub(super) fn drivers(root: &NodeRoot, kubelet: &str) -> Vec<Driver> {
    let plugins = format!("{kubelet}/plugins");
    let mut drivers = Vec::new();
    for name in root.names(&plugins) {
        let metadata = format!("{plugins}/{name}/dra-device-metadata");
        let socket = root.exists(&format!("{plugins}/{name}/dra.sock"));
        if !socket && !root.is_directory(&metadata) {
            continue;
        }
        let mut driver = Driver {
            name,
            metadata_files: 0,
            metadata_versions: Vec::new(),
            unreadable: Vec::new(),
        };
        read_metadata(root, &metadata, &mut driver);
        drivers.push(driver);
    }
    drivers
}

/// `CLAIM/REQUEST/metadata.json`, as upstream's helper library lays them out.
fn read_metadata(root: &NodeRoot, directory: &str, driver: &mut Driver) {
    for claim in root.names(directory).into_iter().take(ENTRIES) {
        for request in root.names(&format!("{directory}/{claim}")) {
            let path = format!("{directory}/{claim}/{request}/metadata.json");
            match root.read(&path, limits::FILE_BYTES) {
                Ok(None) => {}
                Ok(Some(bytes)) => {
                    driver.metadata_files += 1;
                    match versions(&bytes) {
                        Ok(found) => driver.metadata_versions.extend(found),
                        Err(error) => driver.unreadable.push(format!("{path}: {error}")),
                    }
                }
                Err(error) => driver.unreadable.push(format!("{path}: {error}")),
            }
        }
    }
    driver.metadata_versions.sort_unstable();
    driver.metadata_versions.dedup();
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Object {
    api_version: Option<String>,
}

/// The versions of a stream of objects.
fn versions(bytes: &[u8]) -> Result<Vec<String>, String> {
    let mut versions = Vec::new();
    for object in serde_json::Deserializer::from_slice(bytes).into_iter::<Object>() {
        let object = object.map_err(|error| error.to_string())?;
        let version = object.api_version.unwrap_or_default();
        versions.push(device_attributes::one_line(&version, 64));
    }
    Ok(versions)
}

/// The VMs of the node, by the directories that the kubelet makes of their pods.
pub(super) fn kubevirt(root: &NodeRoot, kubelet: &str) -> KubeVirt {
    let mut found = KubeVirt {
        vsock: root.exists("/dev/vhost-vsock"),
        ..KubeVirt::default()
    };
    let pods = format!("{kubelet}/pods");
    for pod in root.names(&pods).into_iter().take(ENTRIES) {
        let pod = format!("{pods}/{pod}");
        let containers = root.names(&format!("{pod}/containers"));
        if !containers.iter().any(|name| name == "compute") {
            continue;
        }
        found.vms += 1;
        let volume = format!("{pod}/volumes/kubernetes.io~empty-dir/{VM_MOUNT_VOLUME}");
        found.with_vm_mount += usize::from(root.is_directory(&volume));
        found.with_document += usize::from(root.is_file(&format!("{volume}/{FILE_NAME}")));
        let virtiofs = containers.iter().any(|name| name.starts_with("virtiofs-"));
        found.with_virtiofs += usize::from(virtiofs);
    }
    found
}

/// NRI's socket, and whether the plugin runs.
pub(super) fn nri(root: &NodeRoot) -> Nri {
    const SOCKET: &str = "/var/run/nri/nri.sock";
    let plugin_runs = root.names("/proc").iter().any(|process| {
        process.starts_with(|c: char| c.is_ascii_digit())
            && root
                .read(&format!("/proc/{process}/comm"), 64)
                .is_ok_and(|name| name.as_deref() == Some(b"dra-guest-nri\n"))
    });
    Nri {
        socket: root.exists(SOCKET).then(|| SOCKET.to_owned()),
        plugin_runs,
    }
}
