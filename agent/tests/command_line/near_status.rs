//! A status as the service writes it, trees that look like sysfs, and the commands that run near a device.

use std::fs;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::guest::Guest;

/// A guest whose status has these devices, and whose sysfs these files below `devices/system`.
pub(crate) fn guest(devices: &Value, files: &[(&str, &str)]) -> Guest {
    let guest = Guest::new();
    let status = json!({
        "apiVersion": "dra-guest/v1", "kind": "Status", "agentVersion": "0.1.0", "ready": true,
        "source": "/run/kubevirt/device-attributes.json", "documentDigest": "sha256:00", "devices": devices,
    });
    fs::create_dir_all(guest.path("run/dra-guest")).unwrap();
    fs::write(guest.path("run/dra-guest/status.json"), status.to_string()).unwrap();
    for (path, text) in files {
        let path = guest.path("sys/devices/system").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    guest
}

pub(crate) fn nic(locality: &Value) -> Value {
    let mut device = json!({
        "identity": {"claim": {"namespace": "default", "name": "vm-nic-x7k2p", "podClaimName": "nic"}, "request": "vf"},
        "ready": true, "reason": "Configured", "interfaceName": "net1",
    });
    if !locality.is_null() {
        device["locality"] = locality.clone();
    }
    device
}

pub(crate) fn near(nodes: &str, cpus: &str) -> Value {
    json!({"near": {"nodes": nodes, "cpus": cpus, "by": "sysfs"}})
}

pub(crate) fn agent(guest: &Guest, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dra-guest-agent"));
    let (verb, rest) = arguments.split_first().unwrap();
    command
        .arg(verb)
        .arg("--run-root")
        .arg(guest.path("run"))
        .arg("--sys-root")
        .arg(guest.path("sys"))
        .args(rest);
    command
}

pub(crate) fn exec(guest: &Guest, arguments: &[&str]) -> Output {
    let arguments: Vec<&str> = ["exec"].iter().chain(arguments).copied().collect();
    agent(guest, &arguments).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Two nodes, of which the first has this machine's first CPU: what is bound to it can be tried anywhere.
pub(crate) const NODES: [(&str, &str); 5] = [
    ("cpu/online", "0-1\n"),
    ("node/online", "0-1\n"),
    ("node/has_memory", "0-1\n"),
    ("node/node0/cpulist", "0\n"),
    ("node/node1/cpulist", "60000-60001\n"),
];
