//! A driver that writes no metadata: what is known of its devices comes from the relay.

use anyhow::{Result, ensure};
use dra_guest_tests::cluster::{NODE, User};
use dra_guest_tests::programs::static_program;
use dra_guest_tests::wait;
use dra_guest_tests::way_on_node::{Asker, DEVICE};
use serde_json::{Value, json};

use crate::{LIMIT, Stage};

const SOCKET: &str = "/run/dra-guest/relay/attributes.sock";

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
    stage.bed.start_plugin(&[
        &format!("--attributes-socket={SOCKET}"),
        "--attributes-user=0",
        "--attributes-timeout=1500ms",
    ])?;
    let log = stage.bed.cluster.control().logs().join("relay.log");
    wait::until("the relay listens", LIMIT, || {
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
    assert_eq!(
        device["host"],
        json!({"pciAddress": "0000:3b:02.1", "pcieRoot": "pci0000:3a", "numaNode": 1})
    );
    assert_eq!(device["claim"]["generation"], Value::Null);
    ensure!(
        stage.bed.plugin_log()?.contains("metadata files: 0"),
        "{}",
        stage.bed.plugin_log()?
    );
    assert_eq!(stage.pod()?.hooks(&stage.bed)?, 1);
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
