//! `deploy/` on a node of tests, installed as an operator does: an image, `kubectl apply -k`, a pod that gets ready.

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::overlay::{self, Addition};
use super::whole::Cluster;
use super::{NODE, images};
use crate::command::stdout_of;
use crate::wait;

/// The relay's `DaemonSet`.
pub const DAEMON_SET: &str = "/apis/apps/v1/namespaces/dra-guest/daemonsets/dra-guest-relay";
/// The pods of its namespace.
pub const RELAYS: &str = "/api/v1/namespaces/dra-guest/pods";
/// The relay's user and group.
const RELAY_ID: u32 = 65_532;

/// A cluster that `deploy/` can be installed in. What is installed goes with the cluster.
#[derive(Debug)]
pub struct Deployment {
    drivers: Vec<String>,
    guests: TempDir,
    installed: Option<Vec<Addition>>,
}

impl Deployment {
    /// Gives the node the relay's image and KubeVirt's label; nothing is installed yet. The relay may write the claims
    /// of these drivers.
    ///
    /// # Errors
    /// When the image does not build, or the node does not take it.
    pub fn prepare(cluster: &Cluster, drivers: &[&str]) -> Result<Self> {
        // Short paths: a socket's may have 107 bytes.
        let guests = tempfile::Builder::new()
            .prefix("dra-guest-relay-")
            .tempdir_in("/tmp")?;
        chown(guests.path(), Some(RELAY_ID), Some(RELAY_ID))?;
        let archive = guests.path().join("relay.tar");
        images::write_relay_image(&archive)?;
        cluster.node().import(&archive)?;
        fs::remove_file(&archive)?;
        // As KubeVirt labels its nodes.
        let label = json!({"metadata": {"labels": {"kubevirt.io/schedulable": "true"}}});
        cluster
            .admin()
            .patch(
                &format!("/api/v1/nodes/{NODE}"),
                "application/merge-patch+json",
                &label,
            )?
            .object()?;
        Ok(Self {
            drivers: drivers.iter().map(|&driver| driver.to_owned()).collect(),
            guests,
            installed: None,
        })
    }

    /// The socket of a guest that was added: its vhost-device-vsock has this as `uds-path`, and the relay listens at
    /// `PATH_10739`.
    pub fn guest(&self, cid: u32) -> PathBuf {
        self.guests.path().join(format!("vm{cid}"))
    }

    /// Applies `deploy/` with these additions, where they are not what is there, and waits until its pod is the only
    /// one, and ready where it can be. What `kubectl` says; empty where nothing was to do.
    ///
    /// # Errors
    /// When it does not; the error has the relay's log.
    pub fn install(&mut self, cluster: &Cluster, additions: &[Addition]) -> Result<String> {
        if self.installed.as_deref() == Some(additions) {
            return Ok(String::new());
        }
        self.installed = None;
        let directory = tempfile::tempdir()?;
        let drivers: Vec<&str> = self.drivers.iter().map(String::as_str).collect();
        let kustomization = overlay::kustomization(
            directory.path(),
            cluster.control(),
            &drivers,
            self.guests.path(),
            additions,
        )?;
        let file = directory.path().join("kustomization.yaml");
        fs::write(file, kustomization.to_string())?;
        let said = stdout_of(
            cluster
                .kubectl()?
                .args(["apply", "-k"])
                .arg(directory.path()),
        )?;
        // With the profile that keeps it from listening it never gets ready.
        let gets_ready = !additions.contains(&Addition::RuntimesSeccompProfile);
        wait::until("the relay of this deployment runs", wait::PATIENCE, || {
            Ok(is_rolled_out(cluster, gets_ready)?.then_some(()))
        })
        .with_context(|| log(cluster).unwrap_or_default())?;
        self.installed = Some(additions.to_vec());
        Ok(said)
    }
}

fn is_rolled_out(cluster: &Cluster, ready: bool) -> Result<bool> {
    let set = cluster.admin().get(DAEMON_SET)?.object()?;
    let number = |path: &str| set.pointer(path).and_then(Value::as_u64);
    Ok(
        number("/status/observedGeneration") == number("/metadata/generation")
            && number("/status/updatedNumberScheduled") == Some(1)
            && (!ready || number("/status/numberReady") == Some(1))
            && relays(cluster)?.len() == 1,
    )
}

/// The relay's pods, those that end among them.
///
/// # Errors
/// When the API server does not answer.
pub fn relays(cluster: &Cluster) -> Result<Vec<Value>> {
    // Others are in the namespace, too.
    let relays = format!("{RELAYS}?labelSelector=app.kubernetes.io/name=dra-guest-relay");
    let pods = cluster.admin().get(&relays)?.object()?;
    let items = pods.get("items").and_then(Value::as_array);
    items.cloned().context("a list of pods")
}

/// The relay's one pod.
///
/// # Errors
/// When there is none.
pub fn relay(cluster: &Cluster) -> Result<Value> {
    let pods = relays(cluster)?;
    pods.into_iter().next().context("there is no relay")
}

/// What the relay's pod has logged: the log of each of its starts.
///
/// # Errors
/// When there is no pod.
pub fn log(cluster: &Cluster) -> Result<String> {
    let mut text = String::new();
    let directory = log_directory(cluster)?;
    // The kubelet makes it with the first start.
    for entry in fs::read_dir(&directory).into_iter().flatten() {
        text += &fs::read_to_string(entry?.path())?;
    }
    Ok(text)
}

fn log_directory(cluster: &Cluster) -> Result<PathBuf> {
    let pod = relay(cluster)?;
    let of = |field: &str| -> Result<String> {
        let value = pod.pointer(field).and_then(Value::as_str);
        value.map(str::to_owned).with_context(|| field.to_owned())
    };
    let (name, uid) = (of("/metadata/name")?, of("/metadata/uid")?);
    let of_pod = Path::new("pods").join(format!("dra-guest_{name}_{uid}"));
    Ok(cluster.control().logs().join(of_pod).join("relay"))
}
