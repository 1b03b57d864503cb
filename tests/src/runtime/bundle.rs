//! runc, crun and youki, started with a bundle whose hooks are the suite's.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::cgroup::Cgroup;
use super::mount::BindMount;
use super::private::{self, Cgroups, Outcome};
use crate::cache::tool;

/// `PROGRAM run --bundle BUNDLE NAME` in its steps: youki's own waits for ever now and then where the container
/// ends at once.
const RUN_IN_STEPS: &str = r#"set -e
"$1" create --bundle "$4" "$5"
"$1" start "$5"
until "$1" state "$5" | grep -q '"status": "stopped"'; do sleep 0.02; done
"$1" delete "$5""#;

/// A low-level runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OciRuntime {
    /// runc.
    Runc,
    /// crun.
    Crun,
    /// youki.
    Youki,
}

impl OciRuntime {
    /// Its program.
    ///
    /// # Errors
    /// When youki was not built yet.
    pub fn program(self) -> io::Result<PathBuf> {
        match self {
            Self::Runc => Ok("runc".into()),
            Self::Crun => Ok("crun".into()),
            Self::Youki => tool("youki").map_err(io::Error::other),
        }
    }

    pub(crate) fn cgroups(self) -> Cgroups {
        match self {
            Self::Runc | Self::Youki => Cgroups::Machine,
            Self::Crun => Cgroups::Unified,
        }
    }
}

/// A container to be started from a bundle.
#[derive(Debug, Clone)]
pub struct Bundle {
    /// The root file system.
    pub rootfs: PathBuf,
    /// Mounts beside `/proc` and `/dev`.
    pub mounts: Vec<BindMount>,
    /// Mounts after these, as OCI's configuration has them.
    pub other_mounts: Vec<Value>,
    /// createContainer hooks, as OCI's configuration has them.
    pub hooks: Vec<Value>,
    /// Annotations.
    pub annotations: Value,
    /// The container's environment, `NAME=value`.
    pub environment: Vec<String>,
    /// The container's command.
    pub command: Vec<String>,
    /// Whether the root file system is read-only to the container.
    pub read_only: bool,
    /// The first of 65536 users and groups of the node that are the container's; without it there is no
    /// user namespace.
    pub user_namespace: Option<u32>,
}

impl Bundle {
    /// A container that does nothing, from `rootfs`.
    pub fn new(rootfs: impl Into<PathBuf>) -> Self {
        Self {
            rootfs: rootfs.into(),
            mounts: Vec::new(),
            other_mounts: Vec::new(),
            hooks: Vec::new(),
            annotations: json!({}),
            environment: vec!["PATH=/bin".to_owned()],
            command: vec!["true".to_owned()],
            read_only: false,
            user_namespace: None,
        }
    }

    /// Runs the container to its end.
    ///
    /// # Errors
    /// When the bundle or the namespaces cannot be made. A runtime that refuses is an outcome.
    pub fn run(&self, runtime: OciRuntime) -> io::Result<Outcome> {
        let directory = tempfile::tempdir()?;
        // A runtime enters it as the container's root, too.
        fs::set_permissions(directory.path(), Permissions::from_mode(0o755))?;
        let no_specs = directory.path().join("cdi");
        fs::create_dir(&no_specs)?;
        let cgroup = Cgroup::new();
        fs::write(
            directory.path().join("config.json"),
            serde_json::to_vec_pretty(&self.config(&cgroup))?,
        )?;
        let bundle = directory.path().as_os_str();
        let name = cgroup.path();
        let program = runtime.program()?;
        let program = program.as_os_str();
        let run: [&OsStr; 3] = ["run".as_ref(), "--bundle".as_ref(), bundle];
        let mut command: Vec<&OsStr> = Vec::new();
        match runtime {
            OciRuntime::Runc => command.push(program),
            OciRuntime::Crun => command.extend([program, "--cgroup-manager=cgroupfs".as_ref()]),
            OciRuntime::Youki => {
                command.extend(["sh", "-c", RUN_IN_STEPS, "sh"].map(OsStr::new));
                command.push(program);
            }
        }
        command.extend(run);
        command.push(name.trim_start_matches('/').as_ref());
        private::run(&no_specs, runtime.cgroups(), command)
    }

    fn config(&self, cgroup: &Cgroup) -> Value {
        let mut mounts = vec![
            json!({"destination": "/proc", "type": "proc", "source": "proc"}),
            json!({"destination": "/dev", "type": "tmpfs", "source": "tmpfs",
                   "options": ["nosuid", "mode=755", "size=65536k"]}),
        ];
        mounts.extend(self.mounts.iter().map(|mount| {
            json!({"destination": mount.destination, "source": mount.source, "type": "bind",
                   "options": ["rbind", if mount.read_only { "ro" } else { "rw" }]})
        }));
        mounts.extend(self.other_mounts.iter().cloned());
        let mut linux = json!({
            "cgroupsPath": cgroup.path(),
            "namespaces": [
                {"type": "pid"}, {"type": "network"}, {"type": "ipc"},
                {"type": "uts"}, {"type": "mount"},
            ],
        });
        if let (Some(first), Some(linux)) = (self.user_namespace, linux.as_object_mut()) {
            let mapping = json!([{"containerID": 0, "hostID": first, "size": 65536}]);
            linux.insert("uidMappings".to_owned(), mapping.clone());
            linux.insert("gidMappings".to_owned(), mapping);
            if let Some(namespaces) = linux.get_mut("namespaces").and_then(Value::as_array_mut) {
                namespaces.push(json!({"type": "user"}));
            }
        }
        json!({
            "ociVersion": "1.0.2",
            "process": {
                "user": {"uid": 0, "gid": 0},
                "args": self.command,
                "env": self.environment,
                "cwd": "/",
            },
            "root": {"path": self.rootfs, "readonly": self.read_only},
            "hostname": "test",
            "mounts": mounts,
            "hooks": {"createContainer": self.hooks},
            "annotations": self.annotations,
            "linux": linux,
        })
    }
}
