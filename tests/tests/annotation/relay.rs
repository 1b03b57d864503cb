//! The relay at work, with the token of a pod of its account on the node.

use std::fs;

use anyhow::Result;
use device_attributes::read;
use device_attributes::read::claim::{Slices, devices, read_claim, read_slices};
use dra_guest_tests::cluster::{Cluster, NODE, User};
use dra_guest_tests::process::Process;
use dra_guest_tests::programs::static_program;

use crate::account;

#[derive(Debug)]
pub struct Relay {
    _process: Process,
    directory: tempfile::TempDir,
}

impl Relay {
    pub fn start(cluster: &Cluster, arguments: &[String]) -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let mut config = cluster.control().kubeconfig(User::Admin);
        let token = account::token(cluster.admin(), Some(NODE))?;
        config["users"][0]["user"]["token"] = token.into();
        let kubeconfig = directory.path().join("kubeconfig");
        fs::write(&kubeconfig, config.to_string())?;
        let socket = directory.path().join("vm5");
        let all = [
            format!("--node-name={NODE}"),
            format!("--kubeconfig={}", kubeconfig.display()),
            format!("--guest-socket=cid=5,socket={}", socket.display()),
        ];
        let mut process = Process::start(
            "relay",
            &static_program("dra-guest-relay")?,
            all.iter().chain(arguments),
            directory.path(),
        )?;
        process.wait_for_file(&directory.path().join("vm5_10739"))?;
        Ok(Self {
            _process: process,
            directory,
        })
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("relay.log")).unwrap_or_default()
    }
}

/// What `kubectl` printed gives the devices of the document.
pub fn same_from_bytes(claim: &str, slices: &str, document: &str) -> Result<()> {
    let mut known = Slices::default();
    for slice in read_slices("slices", slices.as_bytes())? {
        known.put(slice);
    }
    let allocated = devices(&read_claim("claim", claim.as_bytes())?, &known)?;
    let expected = read::read("document", document.as_bytes())?
        .document
        .devices;
    assert_eq!(allocated.devices, expected);
    assert_eq!(allocated.notes, Vec::<String>::new());
    Ok(())
}
