//! Where the relay takes the document from when a driver's file is broken, or when there are none.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context as _, Result};
use dra_guest_tests::cluster::NODE;
use dra_guest_tests::command::stdout_of;
use dra_guest_tests::programs::target_directory;
use dra_guest_tests::wait;
use serde_json::{Value, json};

use crate::{Bed, CLAIMS, DRIVER, OTHER, VM, relay};

pub fn a_broken_file(bed: &mut Bed) -> Result<()> {
    let text = bed.annotation(VM, |_| true)?;
    let (own, other) = (bed.metadata(VM)?, bed.metadata(OTHER)?);
    let whole = fs::read_to_string(&other)?;
    fs::write(&own, "[7, this is no metadata")?;
    fs::write(&other, whole.replace("192.0.2.77", "192.0.2.78"))?;
    bed.annotation(OTHER, |document| {
        document["devices"][0]["network"]["ipAddresses"][0] == "192.0.2.78/24"
    })?;
    // The claim is asked in the place of the broken file, and it is said which one that is.
    let fallback = bed.annotation(VM, |document| {
        document["devices"][0]["claim"]["generation"] == Value::Null
    })?;
    assert!(fallback.contains("0000:3b:02."), "{fallback}");
    let name = own.display().to_string();
    wait::until("the file is named in the log", wait::PATIENCE, || {
        Ok(bed.log().contains(&name).then_some(()))
    })?;
    fs::write(&own, whole_again(&whole, &text))?;
    fs::write(&other, &whole)?;
    assert_eq!(
        bed.annotation(VM, |document| document["devices"][0]["claim"]["generation"]
            == 2)?,
        text
    );
    Ok(())
}

/// The metadata file of the other pod's claim, made into that of the pod whose document is `text`.
fn whole_again(whole: &str, text: &str) -> String {
    let document: Value = serde_json::from_str(text).unwrap();
    let device = &document["devices"][0];
    let mut objects = String::new();
    for object in serde_json::Deserializer::from_str(whole).into_iter::<Value>() {
        let mut object = object.unwrap();
        for key in ["name", "uid"] {
            object["metadata"][key] = device["claim"][key].clone();
        }
        let entry = &mut object["requests"][0]["devices"][0];
        entry["name"] = device["device"].clone();
        entry["attributes"] = device["attributes"].clone();
        entry["networkData"]["hardwareAddress"] = device["network"]["macAddress"].clone();
        writeln!(objects, "{object:#}").unwrap();
    }
    objects
}

pub fn from_the_claim(bed: &mut Bed) -> Result<()> {
    bed.start_relay(&["--annotate-pods".to_owned()])?;
    let text = bed.annotation(VM, |document| {
        document["devices"][0]["claim"]["generation"] == Value::Null
    })?;
    let document: Value = serde_json::from_str(&text)?;
    let device = document["devices"][0].clone();
    assert_eq!(device["host"]["numaNode"], 1);
    assert_eq!(device["network"], Value::Null);
    // The driver learns of the network and says so on the claim.
    let claim = device["claim"]["name"].as_str().context("its claim")?;
    let network = json!({"interfaceName": "net1", "ips": ["192.0.2.9/24"]});
    let fields = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": claim},
        "status": {"devices": [{
            "driver": DRIVER, "pool": NODE, "device": device["device"], "networkData": network,
        }]},
    });
    let path = format!("{CLAIMS}/{claim}/status");
    bed.cluster
        .admin()
        .apply(&path, DRIVER, &fields)?
        .object()?;
    let text = bed.annotation(VM, |document| {
        document["devices"][0]["network"]["ipAddresses"][0] == "192.0.2.9/24"
    })?;
    bed.wait_for_file(VM, &text)?;

    // What the API server prints is read to the same.
    let kubectl = |arguments: &[&str]| -> Result<String> {
        stdout_of(bed.cluster.kubectl()?.args(arguments).args(["-o", "json"]))
    };
    let (claim, slices) = (
        kubectl(&["get", "resourceclaim", claim])?,
        kubectl(&["get", "resourceslices"])?,
    );
    keep("claim.json", &claim)?;
    keep("slices.json", &slices)?;
    relay::same_from_bytes(&claim, &slices, &text)
}

/// Leaves what an API server has printed beside the logs, for `attributes/tests/claims`.
fn keep(name: &str, text: &str) -> Result<()> {
    let directory = target_directory()?.join("cluster/annotation/logs");
    Ok(fs::write(directory.join(name), text)?)
}
