//! What the hook adds to the start of a container by containerd: beside a CDI device without a hook, one whose hook
//! is a static program that does nothing, and one of nvidia-cdi-hook.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use serde_json::json;

use super::Latencies;
use super::hook::nothing;
use crate::cache;
use crate::command::stdout_of;
use crate::programs::static_program;
use crate::runtime::{BindMount, Client, ContainerdRun, Handler, start_times};
use crate::table::{Table, milliseconds, ratio};
use crate::way;

/// How often each container is started.
const ROUNDS: u32 = 60;

/// Times of `StartContainer`.
#[derive(Debug)]
pub struct ContainerStartFigures {
    cases: Vec<(&'static str, Latencies)>,
}

/// Measures, in one containerd, the containers in turn. All have the same mounts.
///
/// # Errors
/// When a container does not start, or a hook did not do its part: the container looks for it.
pub fn measure_container_start() -> Result<ContainerStartFigures> {
    let directory = tempfile::tempdir()?;
    // An emptyDir of medium Memory is a tmpfs as this is.
    let memory = tempfile::tempdir_in("/dev/shm")?;
    let data = directory.path();
    fs::write(data.join("metadata.json"), way::METADATA)?;
    let peers = "bench.example.com/peer";
    let base = ContainerdRun {
        cdi_specs: vec![
            ("hook.json".to_owned(), spec_of_the_hook()?),
            ("peers.json".to_owned(), peer_spec(peers, data)?),
        ],
        ..ContainerdRun::new(Client::Cri, Handler::Runc)
    };
    let container = |pods: &Path, device: String, command: &[&str]| -> Result<ContainerdRun> {
        Ok(ContainerdRun {
            devices: vec![device],
            mounts: vec![
                BindMount::writable(volume(pods)?, way::VM_MOUNT),
                BindMount::read_only(data.join("metadata.json"), way::METADATA_PATH),
            ],
            command: command.iter().map(|&word| word.to_owned()).collect(),
            ..base.clone()
        })
    };
    let document = format!("{}/device-attributes.json", way::VM_MOUNT);
    // Each removes what its hook made, and fails where that is not there.
    let done = &["/bin/true"][..];
    let read = &["/bin/busybox", "rm", document.as_str()][..];
    let linked = &["/bin/busybox", "rm", "/link"][..];
    let ours = "dra-guest/vm=attributes".to_owned();
    let (disk, memory) = (data, memory.path());
    let cases = [
        (
            "no hook, an environment variable",
            disk,
            format!("{peers}=variable"),
            done,
        ),
        (
            "a hook that does nothing (C, musl)",
            disk,
            format!("{peers}=nothing"),
            done,
        ),
        (
            "dra-cdi-hook, VM mount in memory",
            memory,
            ours.clone(),
            read,
        ),
        ("dra-cdi-hook, VM mount on disk", disk, ours, read),
        (
            "nvidia-cdi-hook, one link",
            disk,
            format!("{peers}=link"),
            linked,
        ),
    ];
    let mut names = Vec::new();
    let mut containers = Vec::new();
    for (name, pods, device, command) in cases {
        names.push(name);
        containers.push(container(pods, device, command)?);
    }
    let times = start_times(&containers, ROUNDS)?;
    Ok(ContainerStartFigures {
        cases: names
            .into_iter()
            .zip(times.into_iter().map(Latencies::of))
            .collect(),
    })
}

/// The pod's volume that is the VM mount.
fn volume(directory: &Path) -> Result<PathBuf> {
    let uid = "5f0c9a34-5f0e-4d6a-8a3e-3f9c1e9d1b52";
    let volume = directory.join(format!("pods/{uid}/volumes/kubernetes.io~empty-dir/vm"));
    fs::create_dir_all(&volume)?;
    Ok(volume)
}

fn spec_of_the_hook() -> Result<Vec<u8>> {
    let hook = static_program("dra-cdi-hook")?;
    let mut command = Command::new(&hook);
    command.args(["spec", "--hook-path"]).arg(&hook);
    Ok(stdout_of(&mut command)?.into_bytes())
}

fn peer_spec(kind: &str, directory: &Path) -> Result<Vec<u8>> {
    let variable = json!({"env": ["DEVICE=peer"]});
    let hook = |path: &Path, arguments: &[&str]| {
        json!({"hooks": [{"hookName": "createContainer", "path": path, "args": arguments,
                          "env": ["NVIDIA_CTK_DEBUG=false"]}]})
    };
    let link = [
        "nvidia-cdi-hook",
        "create-symlinks",
        "--link",
        "target::/link",
    ];
    let spec = json!({
        "cdiVersion": "0.5.0",
        "kind": kind,
        "devices": [
            {"name": "variable", "containerEdits": variable},
            {"name": "nothing", "containerEdits": hook(&nothing(directory, "musl-gcc")?, &["true"])},
            {"name": "link", "containerEdits": hook(&cache::tool("nvidia-cdi-hook")?, &link)},
        ],
    });
    Ok(spec.to_string().into_bytes())
}

impl fmt::Display for ContainerStartFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new(["", "median", "to no hook", "99 %", "to no hook"]);
        let none = self.cases.first().map(|(_, times)| times);
        for (name, times) in &self.cases {
            let [middle, late] = [50, 99].map(|percent| times.percentile(percent));
            let to = |percent| none.map_or(middle, |none| none.percentile(percent));
            table.row([
                (*name).to_owned(),
                milliseconds(middle),
                ratio(middle, to(50)),
                milliseconds(late),
                ratio(late, to(99)),
            ]);
        }
        table.fmt(f)
    }
}
