//! The hook's installer, `deploy/hook`, on the node: what it puts there, and that it stays.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use dra_guest_tests::cluster::{HOOK_IMAGE, shipped, write_hook_image};
use dra_guest_tests::command::stdout_of;
use dra_guest_tests::programs::static_program;
use dra_guest_tests::wait;
use serde_json::json;

use crate::bed::Bed;

const SET: &str = "/apis/apps/v1/namespaces/dra-guest-hook/daemonsets/dra-guest-hook";

/// The node of the bed is the machine: its `/usr/local` and `/etc` stay as they are, directories stand in for them.
pub fn keeps_the_hook_on_the_node(bed: &mut Bed) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let archive = directory.path().join("hook.tar");
    write_hook_image(&archive)?;
    bed.cluster.node().import(&archive)?;
    let path = |name: &str| directory.path().join(name);
    let (name, tag) = HOOK_IMAGE.rsplit_once(':').context("a tag")?;
    let replace = |path: &str, value: serde_json::Value| json!({"op": "replace", "path": path, "value": value});
    let mut operations: Vec<_> = ["prefix", "cdi", "dynamic-cdi"]
        .iter()
        .enumerate()
        .map(|(index, volume)| {
            let field = format!("/spec/template/spec/volumes/{index}/hostPath/path");
            replace(&field, json!(path(volume)))
        })
        .collect();
    operations.push(replace(
        "/spec/template/spec/containers/0/args/2",
        json!("--every=1"),
    ));
    // There is no network of pods.
    operations.push(json!({"op": "add", "path": "/spec/template/spec/hostNetwork", "value": true}));
    let kustomization = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
        "components": [shipped(directory.path(), "hook")],
        "images": [{"name": "dra-guest-hook", "newName": name, "newTag": tag}],
        "patches": [{"target": {"kind": "DaemonSet"}, "patch": json!(operations).to_string()}],
    });
    fs::write(path("kustomization.yaml"), kustomization.to_string())?;
    stdout_of(
        bed.cluster
            .kubectl()?
            .args(["apply", "-k"])
            .arg(directory.path()),
    )?;
    wait::until("the installer is ready", wait::PATIENCE, || {
        let set = bed.get(SET)?;
        Ok((set["status"]["numberReady"] == 1).then_some(()))
    })?;

    let program = path("prefix/bin/dra-cdi-hook");
    let shipped = fs::read(static_program("dra-cdi-hook")?)?;
    let installed = |file: &Path| {
        wait::until("the hook is on the node", wait::PATIENCE, || {
            Ok((fs::read(file).ok().as_deref() == Some(&shipped[..])).then_some(()))
        })
    };
    installed(&program)?;
    let spec = fs::read_to_string(path("cdi/dra-guest-vm.json"))?;
    assert!(spec.contains("\"/usr/local/bin/dra-cdi-hook\""), "{spec}");

    // What is lost comes back.
    fs::remove_file(&program)?;
    fs::remove_file(path("cdi/dra-guest-vm.json"))?;
    installed(&program)?;
    wait::until("the spec is there again", wait::PATIENCE, || {
        Ok(path("cdi/dra-guest-vm.json").exists().then_some(()))
    })?;

    // The hook outlives its installer, and can be taken away by hand.
    stdout_of(
        bed.cluster
            .kubectl()?
            .args(["delete", "--wait", "-k"])
            .arg(directory.path()),
    )?;
    assert!(program.exists());
    Ok(())
}
