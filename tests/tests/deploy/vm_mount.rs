//! The policy that gives a VM's pod the directory that the hook writes into.

use std::fs;

use anyhow::{Context as _, Result};
use dra_guest_tests::wait;
use serde_json::{Value, json};

use crate::bed::{Bed, OWN_PROFILE, PODS, launcher};

/// Where the hook writes, unless told otherwise.
const MOUNT: &str = "/var/run/device-attributes";
const VOLUME: &str = "dra-guest-vm-mount";
const LAUNCHER: &str = "virt-launcher-vm-x7k2p";

pub fn opted_in(bed: &mut Bed) -> Result<()> {
    ready(bed)?;
    let asked = launcher("5c1f5f5e-0000-0000-0000-000000000000")?;
    let mut pod = admitted(bed, &asked)?;
    let without = admitted(bed, &without_label(&asked)?)?;
    // The volume and the mount are the last ones, and all that is new.
    let volume = pod["spec"]["volumes"].as_array_mut().unwrap().pop();
    assert_eq!(
        volume,
        Some(json!({"name": VOLUME, "emptyDir": {"sizeLimit": "4Mi"}}))
    );
    let mount = pod["spec"]["containers"][0]["volumeMounts"]
        .as_array_mut()
        .unwrap()
        .pop();
    assert_eq!(mount, Some(json!({"name": VOLUME, "mountPath": MOUNT})));
    assert_eq!(pod["spec"], without["spec"]);
    Ok(())
}

pub fn no_other_pod(bed: &mut Bed) -> Result<()> {
    ready(bed)?;
    let asked = launcher("5c1f5f5e-0000-0000-0000-000000000000")?;
    let mut not_yes = asked.clone();
    not_yes["metadata"]["labels"]["dra-guest/vm-mount"] = "false".into();
    // A volume that is plugged into a running VM has a pod of its own.
    let mut of_disk = asked.clone();
    of_disk["metadata"]["labels"]["kubevirt.io"] = "hotplug-disk".into();
    let mut of_nobody = asked.clone();
    of_nobody["metadata"]["labels"] = json!({"dra-guest/vm-mount": "true"});
    let mut without_compute = asked.clone();
    without_compute["spec"]["containers"][0]["name"] = "main".into();
    for pod in [
        without_label(&asked)?,
        not_yes,
        of_disk,
        of_nobody,
        without_compute,
    ] {
        let text = admitted(bed, &pod)?["spec"].to_string();
        assert!(!text.contains("device-attributes"), "{text}");
        assert!(!text.contains(VOLUME), "{text}");
    }
    Ok(())
}

pub fn has_it_already(bed: &mut Bed) -> Result<()> {
    ready(bed)?;
    let asked = launcher("5c1f5f5e-0000-0000-0000-000000000000")?;
    // Once more: as when a pod is made from another's manifest.
    let once = admitted(bed, &asked)?;
    let mut again = asked.clone();
    again["spec"] = once["spec"].clone();
    assert_eq!(admitted(bed, &again)?["spec"], once["spec"]);

    // A mount that the pod's author has thought of, of another volume.
    let mut own = asked;
    let mounts = &mut own["spec"]["containers"][0]["volumeMounts"];
    let mount = json!({"name": "of-the-author", "mountPath": MOUNT});
    mounts.as_array_mut().unwrap().push(mount);
    let volume = json!({"name": "of-the-author", "emptyDir": {"medium": "Memory"}});
    own["spec"]["volumes"].as_array_mut().unwrap().push(volume);
    let pod = admitted(bed, &own)?;
    assert_eq!(
        pod["spec"]["containers"][0]["volumeMounts"],
        own["spec"]["containers"][0]["volumeMounts"]
    );
    assert_eq!(pod["spec"]["volumes"], own["spec"]["volumes"]);
    Ok(())
}

/// The node starts the pod, and its hook finds the mount.
pub fn running_pod(bed: &mut Bed) -> Result<()> {
    ready(bed)?;
    run_pod(bed)?;
    let pod = bed.get(&format!("{PODS}/{LAUNCHER}"))?;
    let uid = pod["metadata"]["uid"].as_str().context("the pod's uid")?;
    let volume = bed
        .cluster
        .node()
        .kubelet()
        .join("pods")
        .join(uid)
        .join("volumes/kubernetes.io~empty-dir")
        .join(VOLUME);
    let text = fs::read_to_string(volume.join("device-attributes.json"))?;
    let document: Value = serde_json::from_str(&text)?;
    assert_eq!(document["pod"]["name"], LAUNCHER);
    let device = &document["devices"][0];
    assert_eq!(device["network"]["macAddress"], "02:00:00:4e:92:87");
    assert_eq!(device["claim"]["podClaimName"], "nic");
    Ok(())
}

/// Runs the VM's pod, where it does not run yet.
pub fn run_pod(bed: &Bed) -> Result<()> {
    let path = format!("{PODS}/{LAUNCHER}");
    if bed.admin().get(&path)?.status == 404 {
        let vm = bed.vm("vm", 5)?;
        bed.admin().create(PODS, &launcher(&vm)?)?.object()?;
    }
    wait::until("the VM's pod runs", wait::PATIENCE, || {
        Ok((bed.get(&path)?["status"]["phase"] == "Running").then_some(()))
    })
    .with_context(|| format!("{:#}", bed.get(&path).unwrap_or_default()["status"]))
}

/// Waits until the API server has compiled the policy, which it does some time after it was installed.
fn ready(bed: &mut Bed) -> Result<()> {
    bed.install(OWN_PROFILE)?;
    let pod = launcher("5c1f5f5e-0000-0000-0000-000000000000")?;
    wait::until("the policy is at work", wait::PATIENCE, || {
        let text = admitted(bed, &pod)?["spec"].to_string();
        Ok(text.contains(VOLUME).then_some(()))
    })
}

/// What the API server would make of a pod.
fn admitted(bed: &Bed, pod: &Value) -> Result<Value> {
    bed.admin()
        .create(&format!("{PODS}?dryRun=All"), pod)?
        .object()
}

fn without_label(pod: &Value) -> Result<Value> {
    let mut pod = pod.clone();
    let labels = pod["metadata"]["labels"].as_object_mut();
    labels.context("labels")?.remove("dra-guest/vm-mount");
    Ok(pod)
}
