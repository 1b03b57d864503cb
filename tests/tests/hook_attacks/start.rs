//! A scene's container, started by one runtime or another.

use std::process::Command;

use dra_guest_tests::programs::static_program;
use dra_guest_tests::runtime::{
    Bundle, Client, ContainerdRun, Handler, OciRuntime, Outcome, PodmanRun,
};
use serde_json::{Value, json};

use crate::scene::Scene;

/// Who starts the container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    /// A low-level runtime by itself, with the hook in its bundle.
    Bundle(OciRuntime),
    /// podman, with the CDI device.
    Podman(OciRuntime),
    /// containerd with runc, with the CDI device and an image of the scene's root.
    Containerd(Client),
}

/// What prints a line where the container starts.
const COMMAND: [&str; 3] = ["/bin/sh", "-c", "echo started"];
/// The hook in a CDI spec.
const HOOK: &str = "/devices/0/containerEdits/hooks/0";
const DEVICE: &str = "dra-guest/vm=attributes";

impl Scene {
    /// The CDI spec that the shipped binary prints, with the scene's turn.
    fn spec(&self, policy: &str) -> Value {
        // Where the container's root, who may be nobody on the node, can reach it: a tree may be root's alone.
        let hook = self.path("dra-cdi-hook");
        // By another process: a descriptor for writing, inherited by a child of another thread, would make it busy.
        let mut copy = Command::new("cp");
        copy.arg(static_program("dra-cdi-hook").unwrap()).arg(&hook);
        assert!(copy.status().unwrap().success(), "{copy:?}");
        let output = Command::new(&hook)
            .args(["spec", "--hook-path"])
            .arg(hook)
            .args(&self.options)
            .args(["--on-error", policy])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let mut spec: Value = serde_json::from_slice(&output.stdout).unwrap();
        if !self.own_environment {
            let hook = spec.pointer_mut(HOOK).unwrap();
            hook.as_object_mut().unwrap().remove("env").unwrap();
        }
        spec
    }

    fn cdi_specs(&self, policy: &str) -> Vec<(String, Vec<u8>)> {
        let spec = self.spec(policy).to_string().into_bytes();
        vec![("dra-guest-vm.json".to_owned(), spec)]
    }

    /// Its hook, as an entry of OCI's configuration.
    fn hook(&self, policy: &str) -> Value {
        let spec = self.spec(policy);
        let mut hook = spec.pointer(HOOK).unwrap().clone();
        let stage = hook.as_object_mut().unwrap().remove("hookName");
        assert_eq!(stage, Some(json!("createContainer")));
        hook
    }

    /// Starts the container with the hook and waits for its end.
    pub(crate) fn start(&self, engine: Engine, policy: &str) -> Outcome {
        match engine {
            Engine::Bundle(runtime) => self.start_bundle(runtime, policy),
            Engine::Podman(runtime) => self.start_by_podman(runtime, policy),
            Engine::Containerd(client) => self.start_by_containerd(client, policy),
        }
    }

    fn start_bundle(&self, runtime: OciRuntime, policy: &str) -> Outcome {
        Bundle {
            mounts: self.mounts.clone(),
            other_mounts: self.other_mounts.clone(),
            hooks: vec![self.hook(policy)],
            annotations: self.annotations.clone(),
            environment: self.environment.clone(),
            command: COMMAND.map(str::to_owned).into(),
            read_only: self.read_only,
            user_namespace: self.user_namespace,
            ..Bundle::new(self.path("root"))
        }
        .run(runtime)
        .unwrap()
    }

    fn start_by_podman(&self, runtime: OciRuntime, policy: &str) -> Outcome {
        let annotations = self.annotations.as_object().unwrap().iter();
        PodmanRun {
            cdi_specs: self.cdi_specs(policy),
            devices: vec![DEVICE.to_owned()],
            mounts: self.mounts.clone(),
            annotations: annotations
                .map(|(key, value)| format!("{key}={}", value.as_str().unwrap()))
                .collect(),
            environment: self.environment.clone(),
            command: COMMAND.map(str::to_owned).into(),
            ..PodmanRun::new(runtime, self.path("root"))
        }
        .run()
        .unwrap()
    }

    fn start_by_containerd(&self, client: Client, policy: &str) -> Outcome {
        let environment = self.environment.iter();
        ContainerdRun {
            rootfs: Some(self.path("root")),
            cdi_specs: self.cdi_specs(policy),
            devices: vec![DEVICE.to_owned()],
            mounts: self.mounts.clone(),
            environment: environment
                .map(|text| text.split_once('=').unwrap())
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect(),
            command: COMMAND.map(str::to_owned).into(),
            read_only: self.read_only,
            ..ContainerdRun::new(client, Handler::Runc)
        }
        .run()
        .unwrap()
    }
}
