//! A node with one container's files, and the ways to start it with the hook.
#![allow(
    unreachable_pub,
    missing_debug_implementations,
    reason = "a module of one suite"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use dra_guest_tests::programs::static_program;
use dra_guest_tests::runtime::{
    BindMount, Bundle, Client, ContainerdRun, Handler, OciRuntime, Outcome, PodmanRun, busybox_root,
};
use serde_json::{Value, json};
use tempfile::TempDir;

pub const METADATA: &str = include_str!("../../../cdi-hook/tests/container/vf-metadata.json");
pub const DOCUMENT: &str = include_str!("../../../cdi-hook/tests/container/vf-document.json");
pub const METADATA_IN_CONTAINER: &str = "/var/run/kubernetes.io/dra-device-attributes/resourceclaimtemplates/nic/vf/sriov.example.com-metadata.json";
pub const VM_MOUNT: &str = "/var/run/device-attributes";
/// The namespace, name and UID that containerd would give.
pub const POD: [(&str, &str); 3] = [
    ("io.kubernetes.cri.sandbox-namespace", "default"),
    ("io.kubernetes.cri.sandbox-name", "virt-launcher-vm-x7k"),
    (
        "io.kubernetes.cri.sandbox-uid",
        "5f0c9a34-5f0e-4d6a-8a3e-3f9c1e9d1b52",
    ),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    Bundle(OciRuntime),
    Podman(OciRuntime),
    Containerd(Client, Handler),
}

pub const ENGINES: [Engine; 8] = [
    Engine::Bundle(OciRuntime::Runc),
    Engine::Bundle(OciRuntime::Crun),
    Engine::Bundle(OciRuntime::Youki),
    Engine::Podman(OciRuntime::Runc),
    Engine::Podman(OciRuntime::Crun),
    Engine::Containerd(Client::Cri, Handler::Runc),
    Engine::Containerd(Client::Cri, Handler::Youki),
    Engine::Containerd(Client::Ctr, Handler::Runc),
];

impl Engine {
    /// The document that a container of this engine gets: `ctr` names no pod.
    pub fn document(self) -> String {
        let (before, pod) = DOCUMENT.split_once("  \"pod\": {").unwrap();
        match self {
            Self::Containerd(Client::Ctr, _) => {
                format!("{before}{}", pod.split_once("  },\n").unwrap().1)
            }
            _ => DOCUMENT.to_owned(),
        }
    }
}

/// A node with one container's files: its root, the volume that is its VM mount, the metadata that
/// its DRA driver wrote, and a canary that no container may reach.
pub struct Node {
    pub directory: TempDir,
    pub mounts: Vec<BindMount>,
    pub hook_options: Vec<String>,
    pub command: Vec<String>,
    /// Whether the container's root file system is read-only to it.
    pub read_only: bool,
    /// CDI devices that the container asks for.
    pub devices: Vec<String>,
}

fn place(node: &Path, name: &str) -> PathBuf {
    let first = Path::new(name).components().next();
    if first == Some(Component::Normal("vm".as_ref())) {
        let uid = POD[2].1;
        return node
            .join(format!("pods/{uid}/volumes/kubernetes.io~empty-dir"))
            .join(name);
    }
    node.join(name)
}

impl Node {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        // Containers reach it as another user would.
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let path = |name: &str| place(directory.path(), name);
        busybox_root(&path("root")).unwrap();
        fs::create_dir_all(path("vm")).unwrap();
        fs::create_dir(path("canary")).unwrap();
        fs::write(path("canary/device-attributes.json"), "untouched").unwrap();
        fs::write(path("metadata.json"), METADATA).unwrap();
        let mounts = vec![
            BindMount::writable(path("vm"), VM_MOUNT),
            BindMount::read_only(path("metadata.json"), METADATA_IN_CONTAINER),
        ];
        let hook_options = vec!["--log".to_owned(), path("hook.log").display().to_string()];
        let command = [
            "/bin/cat",
            "/var/run/device-attributes/device-attributes.json",
        ]
        .map(str::to_owned)
        .to_vec();
        Self {
            directory,
            mounts,
            hook_options,
            command,
            read_only: false,
            devices: vec!["dra-guest/vm=attributes".to_owned()],
        }
    }

    /// A file of the node; the volume that is the VM mount is `vm`, an emptyDir of the pod.
    pub fn path(&self, name: &str) -> PathBuf {
        place(self.directory.path(), name)
    }

    pub fn without_vm_mount(mut self) -> Self {
        self.mounts.retain(|mount| mount.destination != VM_MOUNT);
        self
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.path("hook.log")).unwrap_or_default()
    }

    /// The CDI spec that the shipped binary prints.
    pub fn spec(&self) -> Vec<u8> {
        self.spec_of("cdi")
    }

    /// What the shipped binary prints for runtimes to ask for it.
    pub fn spec_of(&self, form: &str) -> Vec<u8> {
        let hook = static_program("dra-cdi-hook").unwrap();
        let output = Command::new(&hook)
            .args(["spec", "--form", form])
            .arg("--hook-path")
            .arg(hook)
            .args(&self.hook_options)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        output.stdout
    }

    /// The CDI spec that the shipped binary generates of a claim with this UID and of its slices.
    pub fn generated_spec(&self, uid: &str) -> Vec<u8> {
        let case = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../attributes/tests/claims/api-server-1.37-by-kubectl"
        );
        let claim = fs::read(format!("{case}/claim.json")).unwrap();
        let mut claim: Value = serde_json::from_slice(&claim).unwrap();
        *claim.pointer_mut("/metadata/uid").unwrap() = uid.into();
        fs::write(self.path("claim.json"), claim.to_string()).unwrap();
        let hook = static_program("dra-cdi-hook").unwrap();
        let output = Command::new(&hook)
            .arg("generate")
            .arg("--claim")
            .arg(self.path("claim.json"))
            .arg(format!("--slices={case}/slices.json"))
            .arg("--out")
            .arg(self.path("cdi"))
            .arg("--metadata-out")
            .arg(self.path("claims"))
            .arg("--hook-path")
            .arg(&hook)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        fs::read(self.path("cdi").join(format!("dra-guest-claim_{uid}.json"))).unwrap()
    }

    /// The hook of the CDI spec, as an entry of OCI's configuration.
    pub fn hook(&self) -> Value {
        let spec: Value = serde_json::from_slice(&self.spec()).unwrap();
        let mut hook = spec
            .pointer("/devices/0/containerEdits/hooks/0")
            .unwrap()
            .clone();
        assert_eq!(
            hook.as_object_mut().unwrap().remove("hookName"),
            Some(json!("createContainer"))
        );
        hook
    }

    pub fn bundle(&self, hooks: Vec<Value>) -> Bundle {
        Bundle {
            mounts: self.mounts.clone(),
            hooks,
            annotations: Value::Object(
                POD.iter()
                    .map(|(key, value)| ((*key).to_owned(), json!(value)))
                    .collect(),
            ),
            command: self.command.clone(),
            read_only: self.read_only,
            ..Bundle::new(self.path("root"))
        }
    }

    /// Starts the container with the hook and waits for its end.
    pub fn start(&self, engine: Engine) -> Outcome {
        self.start_with(engine, "dra-guest-vm.json", self.spec())
    }

    /// The same with another CDI spec.
    pub fn start_with(&self, engine: Engine, name: &str, spec: Vec<u8>) -> Outcome {
        match engine {
            Engine::Bundle(runtime) => self.bundle(vec![self.hook()]).run(runtime).unwrap(),
            Engine::Podman(runtime) => PodmanRun {
                cdi_specs: vec![(name.to_owned(), spec)],
                devices: self.devices.clone(),
                mounts: self.mounts.clone(),
                annotations: POD
                    .iter()
                    .map(|(key, value)| format!("{key}={value}"))
                    .collect(),
                command: self.command.clone(),
                ..PodmanRun::new(runtime, self.path("root"))
            }
            .run()
            .unwrap(),
            Engine::Containerd(client, handler) => ContainerdRun {
                cdi_specs: vec![(name.to_owned(), spec)],
                devices: self.devices.clone(),
                mounts: self.mounts.clone(),
                command: self.command.clone(),
                read_only: self.read_only,
                ..ContainerdRun::new(client, handler)
            }
            .run()
            .unwrap(),
        }
    }

    /// Names in the VM mount, as the node sees them.
    pub fn vm_files(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.path("vm"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

pub fn assert_document(node: &Node, outcome: &Outcome, engine: Engine) {
    assert!(outcome.success(), "{engine:?}: {outcome:?}\n{}", node.log());
    let document = engine.document();
    assert_eq!(outcome.stdout, document, "{engine:?}: in the container");
    let file = node.path("vm/device-attributes.json");
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        document,
        "{engine:?}: on the node"
    );
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o644, "{engine:?}");
    assert_eq!(node.vm_files(), ["device-attributes.json"], "{engine:?}");
}
