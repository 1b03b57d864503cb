//! The NRI plugin on a node of Kubernetes: a driver that does not know of the hook, and one that asks for it itself.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

mod daemon_set;
mod pod;
mod relay;

use std::fs;
use std::process::ExitCode;

use anyhow::{Context as _, Result, ensure};
use dra_guest_tests::cluster::Cluster;
use dra_guest_tests::suite::{self, Shared};
use dra_guest_tests::wait;
use dra_guest_tests::way_on_node::{Asker, Bed, DEVICE, DRIVER};
use serde_json::{Value, json};

use crate::pod::Pod;

static STAGE: Shared<Stage> = Shared::new(|| {
    let bed = Bed::new(Cluster::start("nri")?, Asker::Plugin)?;
    bed.create_objects()?;
    Ok(Stage { bed, pod: None })
});

struct Stage {
    bed: Bed,
    /// The pod that runs: the driver has one device.
    pod: Option<Pod>,
}

fn main() -> ExitCode {
    suite::run(
        &STAGE,
        &[
            (
                "a_vms_pod_gets_its_document_though_its_driver_asks_for_nothing",
                asks,
            ),
            ("a_newer_generation_is_written_into_the_volume", follows),
            ("a_killed_plugin_finds_its_containers_again", finds_again),
            ("a_pod_that_has_ended_is_forgotten", forgets),
            ("a_pod_that_opted_out_has_no_document", opted_out),
            ("a_pod_starts_though_the_plugin_was_killed", without_plugin),
            ("a_driver_that_asks_itself_has_one_hook", asked_already),
            ("without_metadata_the_relay_is_asked", relay::is_asked),
            (
                "the_daemon_set_brings_plugin_and_hook",
                daemon_set::brings_both,
            ),
        ],
    )
}

impl Stage {
    fn pod(&self) -> Result<&Pod> {
        self.pod
            .as_ref()
            .context("the pod of an earlier test does not run")
    }

    /// Ends the pod that runs, and starts another one.
    fn next(&mut self, name: &str, annotations: &Value) -> Result<()> {
        self.end()?;
        self.pod = Some(Pod::start(&self.bed, name, annotations)?);
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        self.pod.take().map_or(Ok(()), |pod| pod.end(&self.bed))
    }

    /// Waits until the document has this address, and gives it.
    fn document_with(&self, address: &str) -> Result<Value> {
        let path = self.pod()?.document_file(&self.bed);
        let waited = wait::until(
            &format!("{address} in the document"),
            wait::PATIENCE,
            || {
                let text = fs::read_to_string(&path).unwrap_or_default();
                Ok(text.contains(address).then_some(text))
            },
        );
        let text = waited.with_context(|| self.bed.plugin_log().unwrap_or_default())?;
        Ok(serde_json::from_str(&text)?)
    }

    /// How many directories the plugin watches.
    fn watches(&mut self) -> Result<usize> {
        let directory = format!("/proc/{}/fdinfo", self.bed.plugin()?.id());
        let mut count = 0;
        for entry in fs::read_dir(directory)? {
            let text = fs::read_to_string(entry?.path()).unwrap_or_default();
            count += text.matches("inotify wd:").count();
        }
        Ok(count)
    }
}

fn asks(stage: &mut Stage) -> Result<()> {
    stage.next("first", &json!({}))?;
    let pod = stage.pod()?;
    let expected = json!({"namespace": "default", "name": pod.name, "uid": pod.uid});
    let document = stage.document_with("192.0.2.5/24")?;
    assert_eq!(document["pod"], expected);
    let device = &document["devices"][0];
    assert_eq!([&device["driver"], &device["device"]], [DRIVER, DEVICE]);
    assert_eq!(device["claim"]["generation"], 1);
    assert_eq!(stage.pod()?.hooks(&stage.bed)?, 1);
    Ok(())
}

fn follows(stage: &mut Stage) -> Result<()> {
    stage.bed.change_addresses(&["192.0.2.6/24"])?;
    let document = stage.document_with("192.0.2.6/24")?;
    assert_eq!(document["devices"][0]["claim"]["generation"], 2);
    assert_eq!(document["pod"]["uid"], stage.pod()?.uid);
    Ok(())
}

fn finds_again(stage: &mut Stage) -> Result<()> {
    stage.bed.plugin()?.kill()?;
    stage.bed.change_addresses(&["192.0.2.7/24"])?;
    stage.bed.start_plugin(&[])?;
    stage.document_with("192.0.2.7/24")?;
    stage.bed.change_addresses(&["192.0.2.8/24"])?;
    stage.document_with("192.0.2.8/24")?;
    ensure!(
        stage.watches()? == 1,
        "it watches {} directories",
        stage.watches()?
    );
    Ok(())
}

fn forgets(stage: &mut Stage) -> Result<()> {
    stage.end()?;
    wait::until("the plugin watches nothing", wait::PATIENCE, || {
        Ok((stage.watches()? == 0).then_some(()))
    })
}

fn opted_out(stage: &mut Stage) -> Result<()> {
    stage.next("opted-out", &json!({"dra-guest/nri": "off"}))?;
    let file = stage.pod()?.document_file(&stage.bed);
    ensure!(!file.exists(), "{} is there", file.display());
    assert_eq!(stage.pod()?.hooks(&stage.bed)?, 0);
    Ok(())
}

/// The runtime closes the connection of a plugin that is gone and asks it no more.
fn without_plugin(stage: &mut Stage) -> Result<()> {
    stage.end()?;
    stage.bed.plugin()?.kill()?;
    stage.next("without-plugin", &json!({}))?;
    let file = stage.pod()?.document_file(&stage.bed);
    ensure!(!file.exists(), "{} is there", file.display());
    stage.bed.start_plugin(&[])?;
    ensure!(
        stage.bed.plugin_log()?.contains("kept up to date: 0"),
        "{}",
        stage.bed.plugin_log()?
    );
    ensure!(!file.exists(), "{} is there", file.display());
    Ok(())
}

fn asked_already(stage: &mut Stage) -> Result<()> {
    stage.end()?;
    stage.bed.restart_driver(Asker::Driver)?;
    stage.next("asked", &json!({}))?;
    stage.document_with("192.0.2.5/24")?;
    assert_eq!(stage.pod()?.hooks(&stage.bed)?, 1);
    let log = stage.bed.plugin_log()?;
    ensure!(log.contains("a driver has asked for the hook"), "{log}");
    // Whoever asked: it is kept up to date.
    stage.bed.change_addresses(&["192.0.2.9/24"])?;
    stage.document_with("192.0.2.9/24")?;
    stage.end()?;
    Ok(())
}
