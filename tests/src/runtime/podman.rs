//! podman, started with CDI devices.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::PathBuf;

use super::bundle::OciRuntime;
use super::cgroup::Cgroup;
use super::mount::BindMount;
use super::private::{self, Outcome};

/// A container to be started by podman.
#[derive(Debug, Clone)]
pub struct PodmanRun {
    /// The low-level runtime that podman uses.
    pub runtime: OciRuntime,
    /// The root file system.
    pub rootfs: PathBuf,
    /// CDI specs that podman finds, by file name.
    pub cdi_specs: Vec<(String, Vec<u8>)>,
    /// `hooks.d` entries that podman finds, by file name.
    pub hooks: Vec<(String, Vec<u8>)>,
    /// CDI devices that the container asks for, like `dra-guest/vm=attributes`.
    pub devices: Vec<String>,
    /// Volumes.
    pub mounts: Vec<BindMount>,
    /// Annotations, `name=value`.
    pub annotations: Vec<String>,
    /// The container's environment, `NAME=value`.
    pub environment: Vec<String>,
    /// The container's command.
    pub command: Vec<String>,
}

impl PodmanRun {
    /// A container that does nothing, from `rootfs`.
    pub fn new(runtime: OciRuntime, rootfs: impl Into<PathBuf>) -> Self {
        Self {
            runtime,
            rootfs: rootfs.into(),
            cdi_specs: Vec::new(),
            hooks: Vec::new(),
            devices: Vec::new(),
            mounts: Vec::new(),
            annotations: Vec::new(),
            environment: Vec::new(),
            command: vec!["/bin/true".to_owned()],
        }
    }

    /// Runs the container to its end.
    ///
    /// Exit codes are podman's: that of the container, or 125 to 127 when it did not start.
    ///
    /// # Errors
    /// When files or namespaces cannot be made. A runtime that refuses is an outcome.
    pub fn run(&self) -> io::Result<Outcome> {
        let directory = tempfile::tempdir()?;
        let specs = directory.path().join("cdi");
        fs::create_dir(&specs)?;
        for (name, bytes) in &self.cdi_specs {
            fs::write(specs.join(name), bytes)?;
        }
        let hooks = directory.path().join("hooks.d");
        fs::create_dir(&hooks)?;
        for (name, bytes) in &self.hooks {
            fs::write(hooks.join(name), bytes)?;
        }
        let cgroup = Cgroup::new();
        let mut command: Vec<OsString> = vec!["podman".into(), "--hooks-dir".into()];
        command.extend([hooks.into(), "--root".into()]);
        command.push(directory.path().join("storage").into());
        command.extend(
            [
                "--runroot=/run/podman-storage",
                "--tmpdir=/run/podman",
                "--storage-driver=vfs",
                "--cgroup-manager=cgroupfs",
                "--events-backend=none",
                "--runtime",
            ]
            .map(OsString::from),
        );
        command.push(self.runtime.program()?.into());
        command.extend(
            [
                "run",
                "--rm",
                "--network=none",
                "--log-driver=none",
                // podman raises these to values that a container without all capabilities may not
                // set.
                "--ulimit=nofile=1024:1024",
                "--ulimit=nproc=1024:1024",
                "--pids-limit=-1",
            ]
            .map(OsString::from),
        );
        match self.runtime {
            OciRuntime::Runc | OciRuntime::Youki => {
                command.push("--cgroups=no-conmon".into());
                command.push(format!("--cgroup-parent={}", cgroup.path()).into());
            }
            OciRuntime::Crun => command.push("--cgroups=disabled".into()),
        }
        let options = self
            .devices
            .iter()
            .map(|device| format!("--device={device}"))
            .chain(
                self.annotations
                    .iter()
                    .map(|text| format!("--annotation={text}")),
            )
            .chain(self.environment.iter().map(|text| format!("--env={text}")));
        command.extend(options.map(OsString::from));
        for mount in &self.mounts {
            let mut text = OsString::from("--volume=");
            text.push(&mount.source);
            text.push(format!(
                ":{}:{}",
                mount.destination,
                if mount.read_only { "ro" } else { "rw" }
            ));
            command.push(text);
        }
        command.push("--rootfs".into());
        command.push(self.rootfs.clone().into());
        command.extend(self.command.iter().map(OsString::from));
        private::run(&specs, self.runtime.cgroups(), command)
    }
}
