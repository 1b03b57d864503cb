//! A test program that is killed: no process of its cluster may outlive it.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::MetadataExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use dra_guest_tests::cluster::{Cluster, IMAGE, NODE};
use dra_guest_tests::wait;
use serde_json::json;

use super::Bed;

/// What makes this program the one that is killed.
pub(crate) const ARGUMENT: &str = "until-killed";
/// What it says when there is something to end.
const RUNNING: &str = "running";

/// Runs a cluster with a pod until it is killed.
pub(crate) fn run_until_killed() -> Result<Infallible> {
    let cluster = Cluster::start("cluster-killed")?;
    let pods = "/api/v1/namespaces/default/pods";
    let container = json!({"name": "main", "image": IMAGE, "imagePullPolicy": "Never"});
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "sleeper"},
        "spec": {"hostNetwork": true, "nodeName": NODE, "containers": [container]},
    });
    cluster.admin().create(pods, &pod)?.object()?;
    wait::until("the pod runs", wait::PATIENCE, || {
        let pod = cluster.admin().get(&format!("{pods}/sleeper"))?.object()?;
        Ok((pod["status"]["phase"] == "Running").then_some(()))
    })?;
    println!("{RUNNING} {}", cluster.node().pid_namespace()?);
    loop {
        std::thread::sleep(Duration::from_hours(1));
    }
}

pub(crate) fn leaves_nothing_running(_: &mut Bed) -> Result<()> {
    let mut program = Command::new(std::env::current_exe()?)
        .arg(ARGUMENT)
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    BufReader::new(program.stdout.take().context("its output")?).read_line(&mut line)?;
    let inode = line
        .strip_prefix(RUNNING)
        .map(|rest| rest.trim().parse::<u64>());
    let processes = || -> Result<BTreeSet<String>> {
        let mut found = BTreeSet::new();
        for process in fs::read_dir("/proc")?.flatten() {
            // What has ended in the meantime is no process.
            let namespace = fs::metadata(process.path().join("ns/pid"));
            let words = fs::read(process.path().join("cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words).replace('\0', " ");
            let in_node = namespace.is_ok_and(|namespace| Some(Ok(namespace.ino())) == inode);
            if in_node || words.contains("/cluster/cluster-killed/") {
                found.insert(words);
            }
        }
        Ok(found)
    };
    let before = processes()?;
    program.kill()?;
    program.wait()?;
    for name in [
        "etcd",
        "kube-apiserver",
        "kube-scheduler",
        "kube-controller-manager",
        "kubelet",
        "containerd-shim",
        "sleep",
    ] {
        ensure!(
            before.iter().any(|words| words.contains(name)),
            "no {name} in {before:#?}"
        );
    }
    wait::until(
        "the cluster of a killed test has ended",
        wait::PATIENCE,
        || Ok(processes()?.is_empty().then_some(())),
    )
}
