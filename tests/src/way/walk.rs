//! The way, step by step.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, anyhow, bail};

use super::NIC_MAC;
use super::claim::Claim;
use super::facts::NicFacts;
use super::node::Node;
use super::preparation::{bake_image, build_programs, journal};
use super::progress::Progress;
use crate::guest::{BakedImage, Guest, GuestOptions};
use crate::process::Process;
use crate::programs::target_directory;

/// A walk along the way: where its logs are.
#[derive(Debug)]
pub struct Walk {
    /// The logs of QEMU, the guest's console, the relay and the programs beside them.
    pub logs: PathBuf,
}

/// The end of the way: everything still runs.
#[derive(Debug)]
pub struct Arrival {
    // In the order of dropping: the guest before those that it talks to.
    /// The guest.
    pub guest: Guest,
    /// The relay.
    pub relay: Process,
    /// The node.
    pub node: Node,
    /// The document that the hook wrote.
    pub document: String,
    /// systemd's word for the guest: `running` when no unit failed.
    pub guest_state: String,
    /// The guest's NICs, as its kernel shows them.
    pub nics: Vec<NicFacts>,
    /// The claim before the container started.
    pub claim_before: Claim,
    /// The claim after the agent's report.
    pub claim_after: Claim,
    _image: BakedImage,
}

impl Walk {
    /// Makes an empty directory for the logs, `guest-logs/NAME` of the target directory.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new(name: &str) -> Result<Self> {
        let logs = target_directory()?.join("guest-logs").join(name);
        if logs.exists() {
            fs::remove_dir_all(&logs)?;
        }
        fs::create_dir_all(&logs)?;
        Ok(Self { logs })
    }

    /// Goes the whole way.
    ///
    /// # Errors
    /// That of the first step that fails, with the place of the logs.
    pub fn go(&self, progress: &mut Progress) -> Result<Arrival> {
        self.steps(progress)
            .map_err(|error| anyhow!("{error:#}\nthe logs are in {}", self.logs.display()))
    }

    fn steps(&self, progress: &mut Progress) -> Result<Arrival> {
        build_programs(progress)?;
        let image = bake_image(progress)?;
        let (node, claim_before) = progress.step("lay out the node", || {
            let node = Node::new()?;
            let claim = node.claim()?;
            let devices: Vec<&str> = claim.devices.iter().map(|d| d.name.as_str()).collect();
            let outcome = format!(
                "ResourceClaim {} with {}, and its driver's metadata file",
                claim.name,
                devices.join(", ")
            );
            Ok(((node, claim), outcome))
        })?;
        let document = progress.step("start the VM's container with podman and CDI", || {
            let document = node.run_container()?;
            let outcome = format!(
                "its hook wrote device-attributes.json, {} bytes, into the VM mount",
                document.len()
            );
            Ok((document, outcome))
        })?;
        let relay = progress.step("start the relay on the node", || {
            let relay = node.start_relay(&self.logs)?;
            Ok((relay, "listens for the guest with vsock CID 5"))
        })?;
        let (mut guest, guest_state) = progress.step("boot the guest under QEMU", || {
            let (guest, state) = Guest::boot(&GuestOptions {
                share: Some(&node.vm_mount()),
                ..GuestOptions::bare(&image, NIC_MAC.parse()?, &node.vsock(), &self.logs)
            })?;
            let outcome = format!("systemd says: {state}");
            Ok(((guest, state), outcome))
        })?;
        let claim_after = progress.step("wait for the agent's report on the claim", || {
            let claim = node
                .wait_for_report()
                .with_context(|| journal(&mut guest))?;
            let outcome = match claim.condition("dra-guest/Ready") {
                Some(condition) => format!("{} {}", condition.status, condition.reason),
                None => bail!("the condition dra-guest/Ready is gone again"),
            };
            Ok((claim, outcome))
        })?;
        let nics = NicFacts::look(progress, &mut guest)?;
        Ok(Arrival {
            guest,
            relay,
            node,
            document,
            guest_state,
            nics,
            claim_before,
            claim_after,
            _image: image,
        })
    }
}
