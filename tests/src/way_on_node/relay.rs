//! The relay as an operator installs it, and what it tells of a VM; guests reach it at the sockets of their
//! vhost-device-vsock.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::bed::{Bed, DRIVER};
use super::vm::Vm;
use crate::cluster::{Addition, Deployment};
use crate::command::stdout_of;
use crate::guest::GUEST_CID;
use crate::wait;

/// What `kubectl` is asked for the Events that the relay has made.
pub(super) const EVENTS: [&str; 4] = [
    "get",
    "events",
    "--field-selector=reportingComponent=dra-guest-relay",
    "--sort-by=.metadata.creationTimestamp",
];

/// The policy that holds the relay's account to its own condition.
const OWN_CONDITION: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/dra-guest-relay-own-condition";

/// A relay in its pod, and the policies beside it. They go with the cluster.
#[derive(Debug)]
pub struct Relay {
    deployment: Deployment,
    /// What `kubectl apply` said, a line for each object.
    pub applied: String,
}

impl Relay {
    /// Installs `deploy/`, and waits until the kubelet finds the relay ready and the policy for VMs' pods is at work. A
    /// guest that says nothing for `lost_after` seconds is lost.
    ///
    /// # Errors
    /// When one of it does not come to be so.
    pub fn install(bed: &Bed, lost_after: u32) -> Result<Self> {
        let mut deployment = Deployment::prepare(&bed.cluster, &[DRIVER])?;
        let additions = [
            Addition::GuestSocket(GUEST_CID),
            Addition::LostAfter(lost_after),
        ];
        let applied = deployment.install(&bed.cluster, &additions)?;
        // The API server compiles it some time after it was installed.
        wait::until("the policy gives pods the VM mount", wait::PATIENCE, || {
            Ok(Vm::would_get_the_mount(bed)?.then_some(()))
        })?;
        wait::until(
            "the policy for the relay is compiled",
            wait::PATIENCE,
            || {
                let policy = bed.get(OWN_CONDITION)?;
                let generation = policy.pointer("/metadata/generation");
                let is_compiled = policy.pointer("/status/observedGeneration") == generation;
                let warnings = policy.pointer("/status/typeChecking/expressionWarnings");
                ensure!(warnings.is_none(), "it has warnings: {policy}");
                Ok(is_compiled.then_some(()))
            },
        )?;
        Ok(Self {
            deployment,
            applied,
        })
    }

    /// The UNIX sockets of the guest's vsock: port N arrives at `PATH_N`.
    pub fn vsock(&self) -> PathBuf {
        self.deployment.guest(GUEST_CID)
    }

    /// Waits for the Event that says that the VM's device is ready, and gives the Events as `kubectl` shows them.
    ///
    /// # Errors
    /// When there is none.
    pub fn events(&self, bed: &Bed) -> Result<String> {
        let path = "/api/v1/namespaces/default/events";
        wait::until("the Event on the VM", wait::PATIENCE, || {
            let list = bed.get(path)?;
            let mut events = list
                .pointer("/items")
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            let found = events.any(|event| {
                event.pointer("/involvedObject/kind") == Some(&json!("VirtualMachineInstance"))
                    && event.get("reason") == Some(&json!("Configured"))
            });
            Ok(found.then_some(()))
        })?;
        let shown = stdout_of(bed.cluster.kubectl()?.args(EVENTS))?;
        ensure!(shown.contains("Configured"), "kubectl shows: {shown}");
        Ok(shown)
    }
}
