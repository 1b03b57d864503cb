//! `deploy/nri` as it is shipped: plugin and hook come with its image.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use dra_guest_tests::cluster::{NODE, NRI_IMAGE, shipped, write_nri_image};
use dra_guest_tests::command::stdout_of;
use dra_guest_tests::wait;
use dra_guest_tests::way_on_node::Asker;
use serde_json::{Value, json};

use crate::Stage;

/// Much more than it takes, on a machine that does much else.
const LIMIT: Duration = Duration::from_mins(2);
/// What containerd says of a plugin that it asks from then on.
const CONNECTED: &str = "connected and synchronized";
const PODS: &str =
    "/api/v1/namespaces/dra-guest/pods?labelSelector=app.kubernetes.io/name=dra-guest-nri";

pub(crate) fn brings_both(stage: &mut Stage) -> Result<()> {
    stage.end()?;
    stage.bed.stop_plugin();
    stage.bed.restart_driver(Asker::Plugin)?;
    install(stage)?;
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
    stage.end()
}

fn install(stage: &Stage) -> Result<()> {
    let cluster = &stage.bed.cluster;
    let directory = tempfile::tempdir()?;
    let archive = directory.path().join("nri.tar");
    write_nri_image(&archive)?;
    cluster.node().import(&archive)?;
    let label = json!({"metadata": {"labels": {"kubevirt.io/schedulable": "true"}}});
    cluster
        .admin()
        .patch(
            &format!("/api/v1/nodes/{NODE}"),
            "application/merge-patch+json",
            &label,
        )?
        .object()?;
    let (name, tag) = NRI_IMAGE.rsplit_once(':').context("the image has a tag")?;
    // There is no network of pods.
    let network = json!([{"op": "add", "path": "/spec/template/spec/hostNetwork", "value": true}]);
    let kustomization = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
        "resources": ["namespace.yaml"],
        "components": [shipped(directory.path(), "nri")],
        "images": [{"name": "dra-guest-nri", "newName": name, "newTag": tag}],
        "patches": [{"target": {"kind": "DaemonSet", "name": "dra-guest-nri"}, "patch": network.to_string()}],
    });
    fs::write(
        directory.path().join("kustomization.yaml"),
        kustomization.to_string(),
    )?;
    let namespace = dra_guest_tests::programs::workspace().join("deploy/base/namespace.yaml");
    fs::copy(namespace, directory.path().join("namespace.yaml"))?;
    let containerd = cluster.control().logs().join("containerd.log");
    let before = fs::read_to_string(&containerd)?.matches(CONNECTED).count();
    stdout_of(
        cluster
            .kubectl()?
            .args(["apply", "-k"])
            .arg(directory.path()),
    )?;
    let logs = || {
        stdout_of(
            cluster
                .kubectl()?
                .args(["--namespace=dra-guest", "describe", "pods"]),
        )
    };
    wait::until("the plugin's pod runs", LIMIT, || {
        let pods = stage.bed.get(PODS)?;
        let ready = pods.pointer("/items/0/status/containerStatuses/0/ready");
        Ok((ready == Some(&Value::Bool(true))).then_some(()))
    })
    .with_context(|| logs().unwrap_or_default())?;
    // It runs before it has connected.
    wait::until("containerd has the plugin", LIMIT, || {
        Ok((fs::read_to_string(&containerd)?.matches(CONNECTED).count() > before).then_some(()))
    })
}
