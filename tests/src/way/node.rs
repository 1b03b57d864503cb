//! The node's side: the claim, the driver's metadata, the VM's container, the relay.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::json;
use tempfile::TempDir;

use super::claim::Claim;
use super::{METADATA, METADATA_PATH, VM_MOUNT};
use crate::guest::GUEST_CID;
use crate::process::Process;
use crate::programs::{cdi_spec, static_program};
use crate::runtime::{BindMount, OciRuntime, PodmanRun, busybox_root};
use crate::wait;

const CLAIM: &str = include_str!("vm-nic-7xk2p.yaml");
const CLAIM_NAME: &str = "default/vm-nic-7xk2p";
const CLAIM_UID: &str = "5f1c8f7e-3d0b-4c0e-9a55-0c6f3a1d2b77";

/// A node with one claim and no VM yet. Dropping it removes it.
#[derive(Debug)]
pub struct Node {
    directory: TempDir,
}

impl Node {
    /// Lays out the claim file, the driver's metadata and the pod's volume.
    ///
    /// # Errors
    /// When files cannot be made.
    pub fn new() -> Result<Self> {
        let directory = tempfile::Builder::new()
            .prefix("dra-guest-node-")
            .tempdir_in("/tmp")?;
        let node = Self { directory };
        fs::create_dir(node.claims())?;
        fs::create_dir(node.vm_mount())?;
        fs::write(node.claim_file(), CLAIM)?;
        fs::write(node.metadata_file(), METADATA)?;
        Ok(node)
    }

    /// The volume that the container and the guest share.
    pub fn vm_mount(&self) -> PathBuf {
        self.directory.path().join("vm-mount")
    }

    /// The document in it.
    pub fn document_file(&self) -> PathBuf {
        self.vm_mount().join("device-attributes.json")
    }

    /// The UNIX sockets of the guest's vsock: port N arrives at `PATH_N`.
    pub fn vsock(&self) -> PathBuf {
        self.directory.path().join("vsock")
    }

    /// The claim as it stands.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn claim(&self) -> Result<Claim> {
        Claim::read(&self.claim_file())
    }

    /// Runs the VM's container to its end: podman with the driver's CDI device and ours, whose
    /// hook writes the document into the VM mount.
    ///
    /// # Errors
    /// When the container does not start or the document is not there then.
    pub fn run_container(&self) -> Result<String> {
        let rootfs = self.directory.path().join("rootfs");
        busybox_root(&rootfs)?;
        let mut container = PodmanRun::new(OciRuntime::Runc, &rootfs);
        container.cdi_specs = vec![
            ("dra-guest-vm.json".to_owned(), cdi_spec()?.into_bytes()),
            ("sriov-metadata.json".to_owned(), self.driver_spec()?),
        ];
        container.devices = vec![
            format!("sriov.example.com/metadata={CLAIM_UID}_vf"),
            "dra-guest/vm=attributes".to_owned(),
        ];
        container.mounts = vec![BindMount::writable(self.vm_mount(), VM_MOUNT)];
        let outcome = container.run()?;
        if !outcome.success() {
            bail!("podman ended with {:?}: {}", outcome.code, outcome.stderr);
        }
        fs::read_to_string(self.document_file()).with_context(|| {
            format!(
                "the container ran, but its hook has not written {}; podman said: {}",
                self.document_file().display(),
                outcome.stderr
            )
        })
    }

    /// Starts the relay for the guest, and waits until it listens.
    ///
    /// # Errors
    /// When it ends at once.
    pub fn start_relay(&self, logs: &Path) -> Result<Process> {
        let guest = format!(
            "cid={GUEST_CID},socket={},claim={CLAIM_NAME}",
            self.vsock().display()
        );
        let mut relay = Process::start(
            "dra-guest-relay",
            &static_program("dra-guest-relay")?,
            [
                "--claims".as_ref(),
                self.claims().as_os_str(),
                "--guest".as_ref(),
                guest.as_ref(),
            ],
            logs,
        )?;
        let port = device_attributes::report::PORT;
        let socket = format!("{}_{port}", self.vsock().display());
        relay.wait_for_file(Path::new(&socket))?;
        Ok(relay)
    }

    /// Waits for the relay's word on the claim that is not "pending".
    ///
    /// # Errors
    /// When none comes in a minute.
    pub fn wait_for_report(&self) -> Result<Claim> {
        wait::until(
            "the claim's condition dra-guest/Ready",
            Duration::from_mins(1),
            || {
                let claim = self.claim()?;
                let said = claim
                    .condition("dra-guest/Ready")
                    .is_some_and(|condition| condition.reason != "Pending");
                Ok(said.then_some(claim))
            },
        )
    }

    /// The driver's own CDI spec, as upstream's kubelet plugin library makes it.
    fn driver_spec(&self) -> Result<Vec<u8>> {
        Ok(serde_json::to_vec_pretty(&json!({
            "cdiVersion": "0.5.0",
            "kind": "sriov.example.com/metadata",
            "devices": [{
                "name": format!("{CLAIM_UID}_vf"),
                "containerEdits": {"mounts": [{
                    "hostPath": self.metadata_file(),
                    "containerPath": METADATA_PATH,
                    "options": ["ro", "bind"],
                }]},
            }],
        }))?)
    }

    fn claims(&self) -> PathBuf {
        self.directory.path().join("claims")
    }

    fn claim_file(&self) -> PathBuf {
        self.claims().join("vm-nic-7xk2p.yaml")
    }

    fn metadata_file(&self) -> PathBuf {
        self.directory.path().join("metadata.json")
    }
}
