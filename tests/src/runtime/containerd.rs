//! containerd, started for one container: through the CRI, as a kubelet does, or by `ctr`.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::cgroup::Cgroup;
use super::mount::BindMount;
use super::private::{self, Cgroups, Limit, Outcome};
use crate::cache::tool;
use crate::cluster::image;

/// Who asks containerd for a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    /// The CRI, by crictl.
    Cri,
    /// containerd's own `ctr`.
    Ctr,
}

/// A runtime handler of containerd, that a `RuntimeClass` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handler {
    /// runc.
    Runc,
    /// youki.
    Youki,
    /// runc, with hooks in the `base_runtime_spec` of each of its containers.
    BaseRuntimeSpec,
}

impl Handler {
    fn name(self) -> &'static str {
        match self {
            Self::Runc => "runc",
            Self::Youki => "youki",
            Self::BaseRuntimeSpec => "with-hooks",
        }
    }
}

/// A container to be started by containerd.
#[derive(Debug, Clone)]
pub struct ContainerdRun {
    /// Who asks for it.
    pub client: Client,
    /// By which handler.
    pub handler: Handler,
    /// The root file system that the image is made of; without it, a busybox.
    pub rootfs: Option<PathBuf>,
    /// CDI specs that containerd finds, by file name.
    pub cdi_specs: Vec<(String, Vec<u8>)>,
    /// `hooks` of the base runtime spec.
    pub base_hooks: Value,
    /// CDI devices that the container asks for.
    pub devices: Vec<String>,
    /// Volumes.
    pub mounts: Vec<BindMount>,
    /// The container's environment.
    pub environment: Vec<(String, String)>,
    /// The container's command.
    pub command: Vec<String>,
    /// Whether the root file system is read-only to the container.
    pub read_only: bool,
    /// The user that the container's process is.
    pub user: i64,
    /// Annotations of the pod.
    pub annotations: Value,
    /// More of containerd's configuration.
    pub configuration: String,
    /// An NRI plugin that is connected before the pod is made: its command.
    pub plugin: Vec<OsString>,
}

impl ContainerdRun {
    /// A container that does nothing.
    pub fn new(client: Client, handler: Handler) -> Self {
        Self {
            client,
            handler,
            rootfs: None,
            cdi_specs: Vec::new(),
            base_hooks: json!({}),
            devices: Vec::new(),
            mounts: Vec::new(),
            environment: Vec::new(),
            command: vec!["/bin/true".to_owned()],
            read_only: false,
            user: 0,
            annotations: json!({}),
            configuration: String::new(),
            plugin: Vec::new(),
        }
    }

    /// Runs the container to its end, and containerd with it.
    ///
    /// # Errors
    /// When a tool is missing, or files or namespaces cannot be made. A runtime that refuses is an outcome.
    pub fn run(&self) -> Result<Outcome> {
        let directory = tempfile::tempdir()?;
        let data = directory.path();
        let cgroup = Cgroup::new();
        self.prepare(data, &cgroup)?;
        fs::write(data.join("container.json"), self.container().to_string())?;
        let arguments = match self.client {
            Client::Cri => Vec::new(),
            Client::Ctr => self.ctr_arguments(&cgroup),
        };
        let script = include_str!("one.sh");
        let mut outcome = self.start(data, script, arguments, Limit::OneContainer)?;
        if !outcome.success() {
            let log = fs::read_to_string(data.join("containerd.log")).unwrap_or_default();
            let errors = log.lines().filter(|line| line.contains("level=error"));
            for line in errors {
                outcome.stderr.push_str(line);
                outcome.stderr.push('\n');
            }
        }
        Ok(outcome)
    }

    /// Writes what containerd, its pod and its image are made of.
    pub(super) fn prepare(&self, data: &Path, cgroup: &Cgroup) -> Result<()> {
        fs::create_dir(data.join("cdi"))?;
        for (name, bytes) in &self.cdi_specs {
            fs::write(data.join("cdi").join(name), bytes)?;
        }
        let archive = data.join("image.tar");
        match &self.rootfs {
            Some(root) => image::write_of(root, &archive)?,
            None => image::write(&archive)?,
        }
        self.write_configuration(data)?;
        if !self.plugin.is_empty() {
            // The shell's words.
            fs::write(
                data.join("plugin"),
                self.plugin.join(" ".as_ref()).as_encoded_bytes(),
            )?;
        }
        fs::write(data.join("pod.json"), self.pod(data, cgroup).to_string())?;
        Ok(())
    }

    /// Starts containerd and lets a script use it.
    pub(super) fn start(
        &self,
        data: &Path,
        script: &str,
        arguments: impl IntoIterator<Item = OsString>,
        limit: Limit,
    ) -> Result<Outcome> {
        let shim = tool("containerd-shim-runc-v2")?;
        let shims = shim.parent().context("a tool without a directory")?;
        let mut path = OsString::from("PATH=");
        path.push(shims);
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let mut command: Vec<OsString> = vec!["env".into(), path, "bash".into(), "-c".into()];
        command.push(format!("{}{script}", include_str!("containerd.sh")).into());
        command.extend(["containerd".into(), data.into()]);
        for name in ["containerd", "ctr", "crictl"] {
            command.push(tool(name)?.into());
        }
        command.push(self.handler.name().into());
        command.extend(arguments);
        let specs = data.join("cdi");
        Ok(private::run_within(
            limit,
            &specs,
            Cgroups::Machine,
            command,
        )?)
    }

    fn write_configuration(&self, data: &Path) -> Result<()> {
        let mut text = include_str!("../cluster/containerd.toml")
            .replace("@CNI@", &data.join("cni").display().to_string());
        let mut handler = |name: &str, keys: &str| {
            // Writing to memory cannot fail.
            let _ = write!(
                text,
                "[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.{name}]\n\
                 runtime_type = 'io.containerd.runc.v2'\n{keys}"
            );
        };
        handler("runc", "");
        let base = data.join("base.json");
        handler(
            Handler::BaseRuntimeSpec.name(),
            &format!("base_runtime_spec = '{}'\n", base.display()),
        );
        if self.handler == Handler::Youki {
            let options = format!(
                "[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.youki.options]\nBinaryName = '{}'\n",
                tool("youki")?.display()
            );
            handler(Handler::Youki.name(), &options);
        }
        text.push_str(&self.configuration);
        fs::write(data.join("containerd.toml"), text)?;
        let output = crate::command::stdout_of(
            std::process::Command::new(tool("ctr")?).args(["oci", "spec"]),
        )?;
        let mut spec: Value = serde_json::from_str(&output)?;
        if let Some(spec) = spec.as_object_mut() {
            spec.insert("hooks".to_owned(), self.base_hooks.clone());
        }
        fs::write(base, spec.to_string())?;
        Ok(())
    }

    /// The container, as the CRI has it.
    pub(super) fn container(&self) -> Value {
        let devices: Vec<Value> = self
            .devices
            .iter()
            .map(|name| json!({"name": name}))
            .collect();
        let mounts: Vec<Value> = self
            .mounts
            .iter()
            .map(|mount| {
                json!({"host_path": mount.source, "container_path": mount.destination,
                       "readonly": mount.read_only})
            })
            .collect();
        let environment: Vec<Value> = self
            .environment
            .iter()
            .map(|(key, value)| json!({"key": key, "value": value}))
            .collect();
        json!({
            "metadata": {"name": "compute"},
            "image": {"image": image::IMAGE},
            "command": self.command,
            "envs": environment,
            "mounts": mounts,
            "CDI_devices": devices,
            "log_path": "container.log",
            "linux": {"security_context": {
                "readonly_rootfs": self.read_only,
                "run_as_user": {"value": self.user},
                "namespace_options": {"network": 2, "pid": 1},
            }},
        })
    }

    fn ctr_arguments(&self, cgroup: &Cgroup) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = self
            .devices
            .iter()
            .map(|device| format!("--device={device}").into())
            .collect();
        for mount in &self.mounts {
            let mut text = OsString::from("--mount=type=bind,src=");
            text.push(&mount.source);
            let mode = if mount.read_only { "ro" } else { "rw" };
            text.push(format!(",dst={},options=rbind:{mode}", mount.destination));
            arguments.push(text);
        }
        let environment = &self.environment;
        arguments.extend(
            environment
                .iter()
                .map(|(key, value)| format!("--env={key}={value}").into()),
        );
        arguments.push(format!("--user={}", self.user).into());
        arguments.push(format!("--cgroup={}/ctr", cgroup.path()).into());
        if self.read_only {
            arguments.push("--read-only".into());
        }
        arguments.extend([image::IMAGE.into(), "test".into()]);
        arguments.extend(self.command.iter().map(OsString::from));
        arguments
    }

    /// The pod, as the CRI has it.
    fn pod(&self, data: &Path, cgroup: &Cgroup) -> Value {
        json!({
            "metadata": {"namespace": "default", "name": "virt-launcher-vm-x7k",
                         "uid": "5f0c9a34-5f0e-4d6a-8a3e-3f9c1e9d1b52"},
            "annotations": self.annotations,
            "log_directory": data,
            "linux": {
                "cgroup_parent": cgroup.path(),
                // That of the node, and a PID namespace for each container.
                "security_context": {"namespace_options": {"network": 2, "pid": 1}},
            },
        })
    }
}
