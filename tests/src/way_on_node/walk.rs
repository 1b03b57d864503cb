//! The way, step by step.

use std::fs;

use anyhow::{Context as _, Result, anyhow};
use serde_json::Value;

use super::bed::{Asker, Bed, DRIVER};
use super::relay::{EVENTS, Relay};
use super::vm::Vm;
use crate::cluster::{Cluster, NODE};
use crate::command::stdout_of;
use crate::guest::{BakedImage, GUEST_CID, Guest, GuestOptions};
use crate::programs::target_directory;
use crate::way::{NIC_MAC, NicFacts, Progress, bake_image, build_programs, journal};

/// What `kubectl get` shows of a claim, the condition among it.
const COLUMNS: [(&str, &str); 5] = [
    ("CLAIM", ".metadata.name"),
    ("DEVICE", ".status.allocation.devices.results[*].device"),
    (
        "READY",
        r#".status.devices[*].conditions[?(@.type=="dra-guest/Ready")].status"#,
    ),
    (
        "REASON",
        r#".status.devices[*].conditions[?(@.type=="dra-guest/Ready")].reason"#,
    ),
    (
        "MESSAGE",
        r#".status.devices[*].conditions[?(@.type=="dra-guest/Ready")].message"#,
    ),
];

/// A walk along the way.
#[derive(Debug)]
pub struct WalkOnNode {
    /// The name of the cluster; logs are in `cluster/NAME/logs` of the target directory.
    pub name: &'static str,
    /// After how many seconds of silence a guest is lost.
    pub lost_after: u32,
}

/// The end of the way: everything still runs.
#[derive(Debug)]
pub struct Arrival {
    // In the order of dropping: the guest before those that it talks to.
    /// The guest.
    pub guest: Guest,
    /// The relay, a pod of the cluster.
    pub relay: Relay,
    /// The cluster, and what is in it.
    pub bed: Bed,
    /// The VM, its pod and its claim.
    pub vm: Vm,
    /// The document that the hook wrote.
    pub document: String,
    /// systemd's word for the guest: `running` when no unit failed.
    pub guest_state: String,
    /// The guest's NICs, as its kernel shows them.
    pub nics: Vec<NicFacts>,
    /// The relay's Events, as `kubectl` shows them.
    pub events: String,
    /// The claim before the guest started.
    pub claim_before: Value,
    /// The condition after the agent's report.
    pub condition: Value,
    _image: BakedImage,
}

impl WalkOnNode {
    /// Goes the whole way.
    ///
    /// # Errors
    /// That of the first step that fails, with the place of the logs.
    pub fn go(&self, progress: &mut Progress) -> Result<Arrival> {
        let logs = target_directory()?
            .join("cluster")
            .join(self.name)
            .join("logs");
        self.steps(progress)
            .map_err(|error| anyhow!("{error:#}\nthe logs are in {}", logs.display()))
    }

    fn steps(&self, progress: &mut Progress) -> Result<Arrival> {
        build_programs(progress)?;
        let image = bake_image(progress)?;
        progress.step("find Kubernetes and containerd, or build them", || {
            Cluster::build()?;
            Ok((
                (),
                "Kubernetes 1.37 and containerd 2.4 as they are, a driver on upstream's library",
            ))
        })?;
        let cluster = progress.step("start a control plane and a node", || {
            let cluster = Cluster::start(self.name)?;
            Ok((
                cluster,
                format!("the node {NODE} is ready: kubelet and containerd"),
            ))
        })?;
        let bed = progress.step(
            "install hook and NRI plugin; a DRA driver that knows of neither",
            || {
                let bed = Bed::new(cluster, Asker::Plugin)?;
                bed.create_objects()?;
                Ok((
                    bed,
                    format!("{DRIVER} has published its device; KubeVirt's kind of VMs is there"),
                ))
            },
        )?;
        let relay = progress.step("kubectl apply -k deploy: relay, rights, policies", || {
            let relay = Relay::install(&bed, self.lost_after)?;
            let outcome = format!(
                "{} objects; the relay's pod is ready, and both policies are compiled",
                relay.applied.lines().count()
            );
            Ok((relay, outcome))
        })?;
        let (vm, document) = progress.step("create the VM with a claim, and its pod", || {
            let vm = Vm::start(&bed)?;
            let path = vm.document_file(&bed);
            let document = fs::read_to_string(&path).with_context(|| {
                format!(
                    "the pod runs, but its hook has not written {}",
                    path.display()
                )
            })?;
            let outcome = format!(
                "{} runs; the hook wrote device-attributes.json, {} bytes, into the emptyDir that the policy gave it",
                vm.pod,
                document.len()
            );
            Ok(((vm, document), outcome))
        })?;
        let claim_before = vm.claim(&bed)?;
        show_claim(progress, &bed, &vm)?;

        let (mut guest, guest_state) = progress.step("boot the guest on that emptyDir", || {
            let (guest, state) = Guest::boot(&GuestOptions {
                share: Some(&vm.vm_mount(&bed)),
                ..GuestOptions::bare(
                    &image,
                    NIC_MAC.parse()?,
                    &relay.vsock(),
                    bed.cluster.control().logs(),
                )
            })?;
            let outcome = format!("vsock CID {GUEST_CID}; systemd says: {state}");
            Ok(((guest, state), outcome))
        })?;
        let condition = progress.step("wait for the agent's report on the claim", || {
            let condition = vm
                .wait_for(&bed, "True", "Configured")
                .with_context(|| journal(&mut guest))?;
            Ok((condition, "dra-guest/Ready is True, Configured"))
        })?;
        show_claim(progress, &bed, &vm)?;
        let events = relay.events(&bed)?;
        progress.shown(&format!("kubectl {}", EVENTS.join(" ")), &events);
        let nics = NicFacts::look(progress, &mut guest)?;
        Ok(Arrival {
            guest,
            relay,
            bed,
            vm,
            document,
            guest_state,
            nics,
            events,
            claim_before,
            condition,
            _image: image,
        })
    }
}

/// Shows the claim as a user sees it.
fn show_claim(progress: &Progress, bed: &Bed, vm: &Vm) -> Result<()> {
    let columns = COLUMNS.map(|(title, path)| format!("{title}:{path}"));
    let output = stdout_of(
        bed.cluster
            .kubectl()?
            .args(["get", "resourceclaim", &vm.claim, "--output"])
            .arg(format!("custom-columns={}", columns.join(","))),
    )?;
    let command = format!("kubectl get resourceclaim {} -o custom-columns=…", vm.claim);
    progress.shown(&command, &output);
    Ok(())
}
