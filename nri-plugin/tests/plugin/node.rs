//! A node's directories, a virt-launcher container on it, and the program.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use dra_guest_nri::protocol::detail::{
    Container, CreateContainerResponse, Hook, Hooks, Mount, PodSandbox,
};
use tempfile::TempDir;

pub const METADATA: &str = include_str!("../../../cdi-hook/tests/container/vf-metadata.json");
pub const POD_UID: &str = "5f0c9a34-5f0e-4d6a-8a3e-3f9c1e9d1b52";
pub const VM_MOUNT: &str = "/var/run/device-attributes";
const DESTINATION: &str = "/var/run/kubernetes.io/dra-device-attributes/resourceclaimtemplates/nic/vf/sriov.example.com-metadata.json";

/// The node. The program ends with it.
pub struct Node {
    pub directory: TempDir,
    pub listener: UnixListener,
    pub program: Child,
}

impl Node {
    /// Starts the program with these options beside the usual ones; `@` in them is the node's directory.
    pub fn new(options: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::create_dir_all(path(
            "kubelet/plugins/sriov.example.com/dra-device-metadata/default_nic/vf",
        ))
        .unwrap();
        fs::create_dir_all(
            path("kubelet/pods")
                .join(POD_UID)
                .join("volumes/kubernetes.io~empty-dir/vm"),
        )
        .unwrap();
        let listener = UnixListener::bind(path("nri.sock")).unwrap();
        let program = start(&directory, options);
        let node = Self {
            directory,
            listener,
            program,
        };
        fs::write(node.metadata(), METADATA).unwrap();
        node
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The driver's metadata file.
    pub fn metadata(&self) -> PathBuf {
        self.path(
            "kubelet/plugins/sriov.example.com/dra-device-metadata/default_nic/vf/metadata.json",
        )
    }

    /// The VM mount's source.
    pub fn volume(&self) -> PathBuf {
        self.path("kubelet/pods")
            .join(POD_UID)
            .join("volumes/kubernetes.io~empty-dir/vm")
    }

    pub fn document(&self) -> PathBuf {
        self.volume().join("device-attributes.json")
    }

    /// What the program has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap()
    }

    /// Kills the program and starts it again.
    pub fn restart(&mut self, options: &[&str]) {
        self.program.kill().unwrap();
        self.program.wait().unwrap();
        self.program = start(&self.directory, options);
    }

    /// The virt-launcher container of a VM.
    pub fn compute(&self) -> Container {
        let mount = |destination: &str, source: PathBuf| Mount {
            destination: destination.to_owned(),
            source: source.display().to_string(),
        };
        Container {
            id: "c0ffee".to_owned(),
            name: "compute".to_owned(),
            mounts: vec![
                mount("/proc", "proc".into()),
                mount(VM_MOUNT, self.volume()),
                mount(DESTINATION, self.metadata()),
            ],
            ..Container::default()
        }
    }

    /// The same container as the runtime tells of it once it runs: with the hook that was asked for.
    pub fn running(&self, wish: CreateContainerResponse) -> Container {
        Container {
            hooks: wish.adjust.and_then(|adjust| adjust.hooks),
            ..self.compute()
        }
    }

    /// Waits until the document has this text in it.
    pub fn wait_for_document(&self, text: &str) -> String {
        let mut last = String::new();
        wait(&format!("{text:?} in the document"), || {
            last = fs::read_to_string(self.document()).unwrap_or_default();
            last.contains(text)
        });
        last
    }

    pub fn wait_for_log(&self, text: &str) {
        wait(&format!("{text:?} in the log"), || {
            self.log().contains(text)
        });
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

fn start(directory: &TempDir, options: &[&str]) -> Child {
    let path = |name: &str| directory.path().join(name);
    let log = fs::File::options()
        .create(true)
        .append(true)
        .open(path("log"))
        .unwrap();
    Command::new(env!("CARGO_BIN_EXE_dra-guest-nri"))
        .arg("--socket")
        .arg(path("nri.sock"))
        .arg("--kubelet")
        .arg(path("kubelet"))
        .arg("--state")
        .arg(path("state"))
        .args(
            options
                .iter()
                .map(|option| option.replace('@', &directory.path().display().to_string())),
        )
        .stdin(Stdio::null())
        .stderr(log)
        .spawn()
        .unwrap()
}

/// The virt-launcher pod.
pub fn pod() -> PodSandbox {
    PodSandbox {
        name: "virt-launcher-vm-x7k".to_owned(),
        namespace: "default".to_owned(),
        uid: POD_UID.to_owned(),
        labels: [("kubevirt.io".to_owned(), "virt-launcher".to_owned())].into(),
        ..PodSandbox::default()
    }
}

/// Waits until it is so; long, for a machine that does much else.
pub fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(
            begun.elapsed() < Duration::from_mins(1),
            "waited in vain for {what}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The hook of an answer.
pub fn hook(wish: &CreateContainerResponse) -> Option<&Hook> {
    let hooks: &Hooks = wish.adjust.as_ref()?.hooks.as_ref()?;
    assert_eq!(hooks.create_container.len(), 1);
    hooks.create_container.first()
}
