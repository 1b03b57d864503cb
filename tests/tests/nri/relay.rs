//! A driver that writes no metadata: what is known of its devices comes from the relay.

use anyhow::{Context as _, Result, ensure};
use dra_guest_tests::cluster::{NODE, User};
use dra_guest_tests::programs::static_program;
use dra_guest_tests::wait;
use dra_guest_tests::way::{NIC_MAC, NIC_NAME};
use dra_guest_tests::way_on_node::{Asker, DEVICE};
use serde_json::{Value, json};

use crate::Stage;

/// Where the relay listens for the plugin.
pub(crate) const SOCKET: &str = "/run/dra-guest/relay/attributes.sock";

pub(crate) fn is_asked(stage: &mut Stage) -> Result<()> {
    stage.end()?;
    stage.bed.restart_driver(Asker::PluginAndRelay)?;
    let control = stage.bed.cluster.control();
    let kubeconfig = stage.bed.cluster.write_kubeconfig(User::Admin, "relay")?;
    let arguments = [
        format!("--node-name={NODE}"),
        format!("--kubeconfig={}", kubeconfig.display()),
        // No vsock of the machine's.
        "--guest-socket=cid=5,socket=/run/vm5".to_owned(),
        format!("--attributes-socket={SOCKET}"),
    ];
    let mut relay = stage.bed.cluster.node().run(
        "relay",
        &static_program("dra-guest-relay")?,
        arguments,
        control.logs(),
    )?;
    // The plugin makes the socket's directory, and the relay waits for it.
    let socket = format!("--attributes-socket={SOCKET}");
    let options = [
        socket.as_str(),
        "--attributes-user=0",
        "--attributes-timeout=1500ms",
    ];
    stage.bed.start_plugin(&options)?;
    let log = stage.bed.cluster.control().logs().join("relay.log");
    wait::until("the relay listens", wait::PATIENCE, || {
        relay.check()?;
        // In the node's own /run.
        let directory = stage
            .bed
            .cluster
            .node()
            .list("/run/dra-guest/relay".as_ref())?;
        Ok(directory.contains("attributes.sock").then_some(()))
    })?;
    stage.next("without-metadata", &json!({}))?;
    let document = stage.document_with(DEVICE)?;
    let device = &document["devices"][0];
    assert_eq!(device["host"], host());
    assert_eq!(device.get("network"), None);
    assert_eq!(device["claim"]["generation"], Value::Null);
    ensure!(
        stage.bed.plugin_log()?.contains("metadata files: 0"),
        "{}",
        stage.bed.plugin_log()?
    );
    assert_eq!(stage.pod()?.hooks(&stage.bed)?, 1);
    network_data_arrives(stage, &options)?;
    // Without the relay a pod starts all the same; nothing is known of its device.
    drop(relay);
    stage.next("without-relay", &json!({}))?;
    assert_eq!(stage.pod()?.hooks(&stage.bed)?, 0);
    let words = "devices whose driver writes no metadata are missing";
    ensure!(
        stage.bed.plugin_log()?.contains(words),
        "{}; the relay: {}",
        stage.bed.plugin_log()?,
        std::fs::read_to_string(log)?
    );
    stage.end()
}

/// What the driver's slice says of its device.
pub(crate) fn host() -> Value {
    json!({"pciAddress": "0000:3b:02.1", "pcieRoot": "pci0000:3a", "numaNode": 1})
}

/// A driver that writes the claim's status alone, when the VM runs (`status.devices[].networkData`, KEP-4817).
fn network_data_arrives(stage: &mut Stage, options: &[&str]) -> Result<()> {
    let claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
    let list = stage.bed.get(claims)?;
    let claim = list["items"][0]["metadata"]["name"]
        .as_str()
        .context("the pod's claim")?;
    let of = &list["items"][0]["status"]["allocation"]["devices"]["results"][0];
    let status = json!({"status": {"devices": [{
        "driver": of["driver"], "pool": of["pool"], "device": of["device"],
        "networkData": {
            "interfaceName": NIC_NAME, "hardwareAddress": NIC_MAC, "ips": ["198.51.100.7/24"],
        },
    }]}});
    stage
        .bed
        .cluster
        .admin()
        .patch(
            &format!("{claims}/{claim}/status"),
            "application/merge-patch+json",
            &status,
        )?
        .object()?;
    // It would ask within a minute; one that starts asks at once.
    stage.bed.start_plugin(options)?;
    let document = stage.document_with("198.51.100.7/24")?;
    assert_eq!(
        document["devices"][0]["network"],
        json!({"interfaceName": NIC_NAME, "macAddress": NIC_MAC, "ipAddresses": ["198.51.100.7/24"]})
    );
    assert_eq!(document["devices"][0]["host"], host());
    Ok(())
}
