//! A node with one container's files, as an attack finds and changes them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use dra_guest_tests::runtime::{BindMount, TreeState, busybox_root};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const METADATA: &str =
    include_str!("../../../cdi-hook/tests/container/vf-metadata.json");
pub(crate) const METADATA_IN_CONTAINER: &str = "/var/run/kubernetes.io/dra-device-attributes/resourceclaimtemplates/nic/vf/sriov.example.com-metadata.json";
/// The same below the root file system, without links.
pub(crate) const METADATA_IN_ROOT: &str = "root/run/kubernetes.io/dra-device-attributes/resourceclaimtemplates/nic/vf/sriov.example.com-metadata.json";
pub(crate) const VM_MOUNT: &str = "/var/run/device-attributes";
pub(crate) const UID: &str = "5f0c9a34-5f0e-4d6a-8a3e-3f9c1e9d1b52";
pub(crate) const FILE: &str = "device-attributes.json";

#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own that a case turns"
)]
/// A container's root, the pod's volume that is its VM mount, the metadata that its DRA driver wrote,
/// and a canary that no container may reach.
pub(crate) struct Scene {
    directory: TempDir,
    pub(crate) mounts: Vec<BindMount>,
    pub(crate) other_mounts: Vec<Value>,
    pub(crate) options: Vec<String>,
    pub(crate) annotations: Value,
    pub(crate) environment: Vec<String>,
    /// Whether the hook has the environment that its CDI spec gives it.
    pub(crate) own_environment: bool,
    pub(crate) read_only: bool,
    pub(crate) user_namespace: Option<u32>,
    /// Whether an attack takes a name of the canary's away that was the container's to begin with.
    pub(crate) shared_name: bool,
    in_memory: bool,
    /// Where the document is to be, if not in the VM mount.
    pub(crate) document: Option<PathBuf>,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        // Containers reach it as another user would.
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let path = |name: &str| directory.path().join(name);
        busybox_root(&path("root")).unwrap();
        fs::create_dir_all(path("canary/etc")).unwrap();
        fs::write(path("canary").join(FILE), "untouched").unwrap();
        fs::write(path("canary/etc/shadow"), "root:*:1::::::").unwrap();
        fs::set_permissions(path("canary/etc/shadow"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(path("metadata.json"), METADATA).unwrap();
        let mut scene = Self {
            directory,
            mounts: Vec::new(),
            other_mounts: Vec::new(),
            options: Vec::new(),
            annotations: json!({
                "io.kubernetes.cri.sandbox-namespace": "default",
                "io.kubernetes.cri.sandbox-name": "virt-launcher-vm-x7k",
                "io.kubernetes.cri.sandbox-uid": UID,
            }),
            environment: vec!["PATH=/bin".to_owned()],
            own_environment: true,
            read_only: false,
            user_namespace: None,
            shared_name: false,
            in_memory: false,
            document: None,
        };
        let vm = scene.volume(UID, "kubernetes.io~empty-dir", "vm");
        scene.mounts = vec![
            BindMount::writable(vm, VM_MOUNT),
            BindMount::read_only(scene.path("metadata.json"), METADATA_IN_CONTAINER),
        ];
        scene.option("--log", &scene.path("hook.log"));
        scene
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A volume's directory, as the kubelet makes it.
    pub(crate) fn volume(&self, uid: &str, kind: &str, name: &str) -> PathBuf {
        let volume = self.path(&format!("kubelet/pods/{uid}/volumes/{kind}/{name}"));
        fs::create_dir_all(&volume).unwrap();
        volume
    }

    /// The pod's own volume that is the VM mount.
    pub(crate) fn vm(&self) -> PathBuf {
        self.volume(UID, "kubernetes.io~empty-dir", "vm")
    }

    /// Puts the VM mount's volume in memory, like an emptyDir of that medium.
    pub(crate) fn vm_in_memory(&mut self) {
        mount(&["-t", "tmpfs"], "tmpfs".as_ref(), &self.vm());
        self.in_memory = true;
    }

    /// The canary's path as a link of the image would have it, without the leading slash.
    pub(crate) fn canary_path(&self) -> String {
        let path = self.path("canary");
        path.strip_prefix("/").unwrap().display().to_string()
    }

    pub(crate) fn option(&mut self, name: &str, value: &Path) {
        self.options.push(format!("{name}={}", value.display()));
    }

    /// Takes the VM mount away.
    pub(crate) fn without_vm_mount(&mut self) {
        self.mounts.retain(|mount| mount.destination != VM_MOUNT);
    }

    /// Mounts something else there.
    pub(crate) fn vm_mount_of(&mut self, source: impl Into<PathBuf>) {
        self.without_vm_mount();
        self.mounts.insert(0, BindMount::writable(source, VM_MOUNT));
    }

    /// Takes the driver's file away.
    pub(crate) fn without_metadata(&mut self) {
        self.mounts
            .retain(|mount| mount.destination != METADATA_IN_CONTAINER);
    }

    /// The driver's file is another.
    pub(crate) fn metadata_of(&mut self, source: impl Into<PathBuf>) {
        self.without_metadata();
        self.mounts
            .push(BindMount::read_only(source, METADATA_IN_CONTAINER));
    }

    pub(crate) fn canary(&self) -> TreeState {
        let state = TreeState::of(&self.path("canary")).unwrap();
        if self.shared_name {
            return state.whatever_names();
        }
        state
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.path("hook.log")).unwrap_or_default()
    }

    pub(crate) fn document(&self) -> Option<String> {
        let vm = self.document.clone().unwrap_or_else(|| self.vm());
        fs::read_to_string(vm.join(FILE)).ok()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        if self.in_memory {
            unmount(&self.vm());
        }
    }
}

/// Mounts something in the program's namespace.
pub(crate) fn mount(options: &[&str], source: &Path, target: &Path) {
    let mut command = Command::new("mount");
    let output = command
        .args(options)
        .args([source, target])
        .output()
        .unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
}

/// Takes a mount away, whatever still uses it.
pub(crate) fn unmount(target: &Path) {
    let _ = Command::new("umount").arg("--lazy").arg(target).output();
}
