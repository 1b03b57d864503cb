//! A node: containerd and the kubelet, in namespaces that go with them and all that they start.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::components::Components;
use super::control_plane::ControlPlane;
use super::user::User;
use super::{NODE, image};
use crate::cache::tool;
use crate::command::stdout_of;
use crate::process::Process;
use crate::runtime::Cgroup;
use crate::wait;

/// A running node. Its containers are processes of its PID namespace: none outlives it.
#[derive(Debug)]
pub struct Node {
    process: Process,
    /// The first process of the node, as the machine sees it.
    init: u32,
    data: PathBuf,
    /// Removed when the processes in it are gone.
    _cgroup: Cgroup,
}

impl Node {
    /// Starts it and waits until the API server calls it ready.
    pub(super) fn start(control: &ControlPlane, components: &Components) -> Result<Self> {
        let data = control.data("node");
        let cgroup = Cgroup::new();
        cgroup.create()?;
        lay_out(control, &data, &cgroup)?;
        let mut process = Process::start(
            "node",
            Path::new("unshare"),
            arguments(&data, control.logs(), &components.program("kubelet")?)?,
            control.logs(),
        )?;
        wait::until("the node is ready", wait::PATIENCE, || {
            process.check()?;
            let answer = control.admin().get(&format!("/api/v1/nodes/{NODE}"))?;
            Ok(is_ready(&answer.body).then_some(()))
        })?;
        let init = first_child(process.id())?;
        Ok(Self {
            process,
            init,
            data,
            _cgroup: cgroup,
        })
    }

    /// Fails when the node has ended.
    ///
    /// # Errors
    /// See above.
    pub fn check(&mut self) -> Result<()> {
        self.process.check()
    }

    /// Starts a program that sees the node's files. It ends with its guard.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn run<A: AsRef<OsStr>>(
        &self,
        name: &str,
        program: &Path,
        arguments: impl IntoIterator<Item = A>,
        logs: &Path,
    ) -> Result<Process> {
        let enter = ["--mount", "--"].map(OsString::from);
        let target = OsString::from(format!("--target={}", self.init));
        let arguments = [target]
            .into_iter()
            .chain(enter)
            .chain([program.as_os_str().to_owned()])
            .chain(
                arguments
                    .into_iter()
                    .map(|argument| argument.as_ref().to_owned()),
            );
        Process::start(name, Path::new("nsenter"), arguments, logs)
    }

    /// Gives containerd the images of an archive.
    ///
    /// # Errors
    /// When it does not take them.
    pub fn import(&self, archive: &Path) -> Result<()> {
        let mut command = Command::new("nsenter");
        command
            .arg(format!("--target={}", self.init))
            .args(["--mount", "--"])
            .arg(tool("ctr")?)
            .args(["--namespace=k8s.io", "images", "import"])
            .arg(archive);
        stdout_of(&mut command)?;
        Ok(())
    }

    /// A command that runs a program in a container, as `user` where that is not the container's own.
    ///
    /// # Errors
    /// When containerd's tools are not there.
    pub fn exec(&self, container: &str, user: Option<&str>) -> Result<Command> {
        let mut command = Command::new("nsenter");
        command
            .arg(format!("--target={}", self.init))
            // Its own /proc, too.
            .args(["--mount", "--pid", "--"])
            .arg(tool("ctr")?)
            .args(["--namespace=k8s.io", "tasks", "exec", "--exec-id=test"]);
        if let Some(user) = user {
            command.arg(format!("--user={user}"));
        }
        command.arg(container);
        Ok(command)
    }

    /// Reads a file of the node, by its path there: on a mount that the machine does not see, perhaps.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&self, path: &Path) -> Result<String> {
        let mut command = Command::new("nsenter");
        command.arg(format!("--target={}", self.init));
        stdout_of(command.args(["--mount", "--", "cat"]).arg(path))
    }

    /// The names in a directory of the node, a line each.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn list(&self, directory: &Path) -> Result<String> {
        let mut command = Command::new("nsenter");
        command.arg(format!("--target={}", self.init));
        stdout_of(command.args(["--mount", "--", "ls"]).arg(directory))
    }

    /// Its PID namespace, by the number of its inode.
    ///
    /// # Errors
    /// When it has ended.
    pub fn pid_namespace(&self) -> Result<u64> {
        let path = format!("/proc/{}/ns/pid", self.init);
        Ok(fs::metadata(&path).with_context(|| path.clone())?.ino())
    }

    /// Where `/run/cdi` of the node lies on the machine.
    pub fn cdi(&self) -> PathBuf {
        self.data.join("cdi")
    }

    /// Where `/var/lib/kubelet` of the node lies on the machine.
    pub fn kubelet(&self) -> PathBuf {
        self.data.join("kubelet")
    }
}

/// What `unshare` is told.
fn arguments(data: &Path, logs: &Path, kubelet: &Path) -> Result<Vec<OsString>> {
    let (containerd, ctr) = (tool("containerd")?, tool("ctr")?);
    let shim = tool("containerd-shim-runc-v2")?;
    let mut path = OsString::from("PATH=");
    path.push(shim.parent().unwrap_or(&shim));
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let namespaces = [
        "--mount",
        "--propagation=private",
        "--pid",
        "--fork",
        "--kill-child=KILL",
        "--mount-proc",
    ];
    let script = ["bash", "-c", include_str!("node.sh"), "node"];
    Ok(namespaces
        .into_iter()
        .chain(["env"])
        .map(OsString::from)
        .chain([path])
        .chain(script.map(OsString::from))
        .chain([data, logs, kubelet, &containerd, &ctr].map(|path| path.as_os_str().to_owned()))
        .collect())
}

/// Writes what `node.sh` reads.
fn lay_out(control: &ControlPlane, data: &Path, cgroup: &Cgroup) -> Result<()> {
    let write = |name: &str, text: &str| {
        let path = data.join(name);
        fs::write(&path, text).with_context(|| format!("{} is not written", path.display()))
    };
    fs::create_dir_all(data.join("cni"))?;
    let cni = data.join("cni");
    write(
        "containerd.toml",
        &include_str!("containerd.toml").replace("@CNI@", &cni.display().to_string()),
    )?;
    // The node is not ready without a network; pods use that of the machine.
    let network = json!({"cniVersion": "1.0.0", "name": "test", "plugins": [{"type": "loopback"}]});
    write("cni/10-loopback.conflist", &network.to_string())?;
    write("kubelet.json", &kubelet_configuration(cgroup).to_string())?;
    write(
        "kubelet.kubeconfig",
        &control.kubeconfig(User::Kubelet).to_string(),
    )?;
    write("node-name", NODE)?;
    image::write(&data.join("image.tar"))
}

/// The kubelet takes the machine as it is, for the machine is not its own.
fn kubelet_configuration(cgroup: &Cgroup) -> Value {
    let none = "0%";
    json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "failCgroupV1": false, "failSwapOn": false,
        "cgroupDriver": "cgroupfs", "cgroupsPerQOS": true, "cgroupRoot": cgroup.path(),
        "enforceNodeAllocatable": [], "localStorageCapacityIsolation": false,
        "evictionHard": {
            "memory.available": none, "nodefs.available": none, "nodefs.inodesFree": none,
            "imagefs.available": none, "imagefs.inodesFree": none,
        },
        "imageGCHighThresholdPercent": 100,
        "resolvConf": "",
        // Nobody asks it anything.
        "enableServer": false, "healthzPort": 0,
        "authentication": {"anonymous": {"enabled": false}, "webhook": {"enabled": false}},
        "authorization": {"mode": "AlwaysAllow"},
    })
}

fn is_ready(node: &Value) -> bool {
    node.pointer("/status/conditions")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .any(|condition| {
            condition.get("type") == Some(&"Ready".into())
                && condition.get("status") == Some(&"True".into())
        })
}

/// The process that `unshare` has started, the first of the PID namespace.
fn first_child(unshare: u32) -> Result<u32> {
    let path = format!("/proc/{unshare}/task/{unshare}/children");
    let children = fs::read_to_string(&path).with_context(|| path.clone())?;
    let child = children.split_whitespace().next();
    child
        .with_context(|| format!("{path} is empty"))?
        .parse()
        .context(path)
}
