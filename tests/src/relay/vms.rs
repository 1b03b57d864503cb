//! The objects of many VMs of one node, as KubeVirt, the scheduler and the controllers of a cluster make them.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use anyhow::{Context as _, Result, anyhow};
use serde_json::{Value, json};

use super::objects::{self, CLAIMS, DRIVER, PODS};
use crate::cluster::{Client, VMS};

/// The first CID that a guest can have: that of the first VM.
pub(super) const FIRST_CID: u32 = 3;
/// So many at once make the objects.
const MAKERS: usize = 4;

/// The name of a VM's claim.
pub(super) fn claim_name(node: &str, number: u32) -> String {
    format!("nic-{node}-{number}")
}

/// Makes the VMs `NODE-0`, `NODE-1` and so on, each with a claim, a pod and a CID.
///
/// # Errors
/// When the API server refuses an object.
pub(super) fn make_vms(admin: &Client, node: &str, size: u32) -> Result<()> {
    let next = AtomicU32::new(0);
    let make = || -> Result<()> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= size {
                return Ok(());
            }
            make_vm(admin, node, number).with_context(|| format!("VM {number} of {node}"))?;
        }
    };
    thread::scope(|scope| {
        let makers: Vec<_> = (0..MAKERS).map(|_| scope.spawn(make)).collect();
        for maker in makers {
            maker
                .join()
                .map_err(|_| anyhow!("a thread that makes VMs has panicked"))??;
        }
        Ok(())
    })
}

fn make_vm(admin: &Client, node: &str, number: u32) -> Result<()> {
    let name = format!("{node}-{number}");
    let claim = claim_name(node, number);
    make_claim(admin, &claim, node)?;
    let mut vm = admin.create(VMS, &objects::vm(&name, node))?.object()?;
    let uid = vm.pointer("/metadata/uid").cloned().unwrap_or_default();
    let launcher = format!("virt-launcher-{name}");
    let pod = objects::pod(&launcher, node, &uid, &[&claim]);
    let mut pod = admin.create(PODS, &pod)?.object()?;
    let status =
        json!({"phase": "Running", "resourceClaimStatuses": objects::claim_statuses(&[&claim])});
    set_status(&mut pod, status)?;
    admin
        .replace(&format!("{PODS}/{launcher}/status"), &pod)?
        .object()?;
    set_status(
        &mut vm,
        json!({"phase": "Running", "VSOCKCID": FIRST_CID + number}),
    )?;
    admin
        .replace(&format!("{VMS}/{name}/status"), &vm)?
        .object()?;
    Ok(())
}

/// Makes a claim with one device of the node, allocated.
///
/// # Errors
/// When the API server refuses it.
pub fn make_claim(admin: &Client, name: &str, node: &str) -> Result<Value> {
    let mut claim = admin.create(CLAIMS, &objects::claim(name))?.object()?;
    set_status(&mut claim, objects::allocation(name, node))?;
    admin
        .replace(&format!("{CLAIMS}/{name}/status"), &claim)?
        .object()
}

/// What the relay applies for a claim of [`make_claim`] with that word.
pub fn apply_body(claim: &Value, status: &str, word: &str) -> Value {
    let name = claim.pointer("/metadata/name");
    json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": {
            "namespace": "default", "name": name, "uid": claim.pointer("/metadata/uid"),
        },
        "status": {"devices": [{"driver": DRIVER, "pool": "p", "device": name, "conditions": [{
            "type": "dra-guest/Ready", "status": status, "reason": "Configured", "message": word,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]}]},
    })
}

fn set_status(object: &mut Value, status: Value) -> Result<()> {
    let object = object.as_object_mut().context("this is no object")?;
    object.insert("status".to_owned(), status);
    Ok(())
}
