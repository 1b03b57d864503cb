//! `deploy/nri` and `deploy/nri/attributes` as they are shipped: plugin and hook come with the image, and ask the relay.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use dra_guest_tests::cluster::{Addition, Deployment, write_nri_image};
use dra_guest_tests::command::stdout_of;
use dra_guest_tests::wait;
use dra_guest_tests::way_on_node::{Asker, DEVICE, DRIVER};
use serde_json::{Value, json};

use crate::{Stage, relay};

/// The CID of a guest that never comes: no vsock of the machine's.
const CID: u32 = 5;
/// What containerd says of a plugin that it asks from then on.
const CONNECTED: &str = "connected and synchronized";
const PODS: &str =
    "/api/v1/namespaces/dra-guest/pods?labelSelector=app.kubernetes.io/name=dra-guest-nri";

pub(crate) fn brings_both(stage: &mut Stage) -> Result<()> {
    stage.end()?;
    stage.bed.stop_plugin();
    stage.bed.restart_driver(Asker::Plugin)?;
    // Its directory of sockets is needed as long as the relay runs.
    let _deployment = install(stage)?;
    stage.next("of-the-daemon-set", &json!({}))?;
    stage.document_with("192.0.2.5/24")?;
    assert_eq!(stage.pod()?.hooks(&stage.bed)?, 1);
    stage.bed.change_addresses(&["192.0.2.6/24"])?;
    stage.document_with("192.0.2.6/24")?;
    let hook = stage
        .bed
        .cluster
        .node()
        .list("/opt/dra-guest/bin".as_ref())?;
    ensure!(
        hook.trim() == "dra-cdi-hook",
        "/opt/dra-guest/bin has {hook}"
    );
    has_no_findings(stage)?;
    // The same pods, and a driver that writes no metadata.
    stage.end()?;
    stage.bed.restart_driver(Asker::PluginAndRelay)?;
    stage.next("of-both-daemon-sets", &json!({}))?;
    let document = stage.document_with(DEVICE)?;
    assert_eq!(document["devices"][0]["host"], relay::host());
    assert_eq!(stage.pod()?.hooks(&stage.bed)?, 1);
    stage.end()
}

/// `doctor` in the plugin's pod, as `docs/nri.md` has it.
fn has_no_findings(stage: &Stage) -> Result<()> {
    let pods = stage.bed.get(PODS)?;
    let id = pods.pointer("/items/0/status/containerStatuses/0/containerID");
    let id = id.and_then(Value::as_str).context("its container")?;
    let mut said = String::new();
    // The relay listens a moment after the plugin has made the directory.
    let found = wait::until("doctor has no findings", wait::PATIENCE, || {
        let output = stage
            .bed
            .cluster
            .node()
            .exec(id.trim_start_matches("containerd://"), None)?
            .args(["/dra-guest-nri", "doctor"])
            .arg("--hook=/opt/dra-guest/bin/dra-cdi-hook")
            .arg(format!("--attributes-socket={}", relay::SOCKET))
            .output()?;
        said = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(output.status.success().then_some(()))
    });
    found.with_context(|| said.clone())?;
    ensure!(said.contains(" is connected to containerd 2."), "{said}");
    Ok(())
}

fn install(stage: &Stage) -> Result<Deployment> {
    let cluster = &stage.bed.cluster;
    // The relay of an earlier check was another user's.
    cluster
        .node()
        .run(
            "remove",
            Path::new("rm"),
            ["--recursive", "--force", "/run/dra-guest"],
            cluster.control().logs(),
        )?
        .wait()?;
    let directory = tempfile::tempdir()?;
    let archive = directory.path().join("nri.tar");
    write_nri_image(&archive)?;
    cluster.node().import(&archive)?;
    let mut deployment = Deployment::prepare(cluster, &[DRIVER])?;
    let containerd = cluster.control().logs().join("containerd.log");
    let before = fs::read_to_string(&containerd)?.matches(CONNECTED).count();
    deployment.install(
        cluster,
        &[Addition::NriAttributes, Addition::GuestSocket(CID)],
    )?;
    let logs = || {
        stdout_of(
            cluster
                .kubectl()?
                .args(["--namespace=dra-guest", "describe", "pods"]),
        )
    };
    wait::until("the plugin's pod runs", wait::PATIENCE, || {
        let pods = stage.bed.get(PODS)?;
        let ready = pods.pointer("/items/0/status/containerStatuses/0/ready");
        Ok((ready == Some(&Value::Bool(true))).then_some(()))
    })
    .with_context(|| logs().unwrap_or_default())?;
    // It runs before it has connected.
    wait::until("containerd has the plugin", wait::PATIENCE, || {
        Ok((fs::read_to_string(&containerd)?.matches(CONNECTED).count() > before).then_some(()))
    })?;
    Ok(deployment)
}
