//! The hook with much to read: 32 ordinary metadata files, and input at the bounds of what it reads.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::timing::{Candidate, medians};
use crate::command::stdout_of;
use crate::programs::static_program;
use crate::table::Table;
use crate::way;

/// How often each runs.
const ROUNDS: usize = 60;
/// Ordinary files of one pod: 32 devices are the most of a claim.
const FILES: usize = 32;
/// Files at the bound of one file, 1 MiB, and together near that of a tree, 8 MiB.
const LARGE_FILES: usize = 7;
/// Devices of each, with 32 attributes of 64 bytes: the most of both that the API has.
const LARGE_DEVICES: usize = 260;

/// Median wall times, with documents written to memory.
#[derive(Debug, Clone, Copy)]
pub struct HookLoadFigures {
    /// One ordinary file.
    pub one: Duration,
    /// 32 of them.
    pub many: Duration,
    /// Input at the bounds.
    pub large: Duration,
    /// Its bytes.
    pub large_bytes: u32,
}

impl fmt::Display for HookLoadFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new(["", "time", "to one file"]);
        let mut row = |name: String, time: Duration| {
            let ratio = time.as_secs_f64() / self.one.as_secs_f64();
            let time = format!("{:.2} ms", time.as_secs_f64() * 1e3);
            table.row([name, time, format!("{ratio:.2}")]);
        };
        row("one ordinary metadata file".to_owned(), self.one);
        row("32 of them".to_owned(), self.many);
        let rate = f64::from(self.large_bytes) / 1e6 / self.large.as_secs_f64();
        let large = format!(
            "{} bytes in files of 1 MiB: {rate:.0} MB/s",
            self.large_bytes
        );
        row(large, self.large);
        table.fmt(f)
    }
}

/// Measures the hook in containers below `directory`, in the mount namespace of this process.
///
/// # Errors
/// When a file or mount cannot be made, or the hook fails.
pub fn measure_hook_load(directory: &Path) -> Result<HookLoadFigures> {
    let ordinary: Value = serde_json::Deserializer::from_str(way::METADATA)
        .into_iter()
        .next()
        .context("no metadata")??;
    let numbered = |number: usize| {
        let mut object = ordinary.clone();
        if let Some(name) = object.pointer_mut("/requests/0/name") {
            *name = format!("vf{number}").into();
        }
        object.to_string()
    };
    let large: Vec<String> = (0..LARGE_FILES).map(large_file).collect();
    let large_bytes = u32::try_from(large.iter().map(String::len).sum::<usize>())?;
    let one = container(&directory.join("one"), &[numbered(0)])?;
    let many = container(
        &directory.join("many"),
        &(0..FILES).map(numbered).collect::<Vec<_>>(),
    )?;
    let large = container(&directory.join("large"), &large)?;

    let hook = static_program("dra-cdi-hook")?.display().to_string();
    let removed = [&one, &many, &large].map(|container| {
        let document = container.document.clone();
        move || match fs::remove_file(&document) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    });
    let [of_one, of_many, of_large] = &removed;
    // What leaves of the large one must fit a document: its devices without their attributes.
    let command = || vec![hook.as_str(), "create-container", "--export=none"];
    let candidates = [
        Candidate {
            name: "one file",
            command: command(),
            stdin: &one.state,
            reset: of_one,
        },
        Candidate {
            name: "32 files",
            command: command(),
            stdin: &many.state,
            reset: of_many,
        },
        Candidate {
            name: "input at the bounds",
            command: command(),
            stdin: &large.state,
            reset: of_large,
        },
    ];
    let times = medians(ROUNDS, &candidates)?;
    let [one, many, large] = times.try_into().ok().context("three candidates")?;
    Ok(HookLoadFigures {
        one,
        many,
        large,
        large_bytes,
    })
}

struct Container {
    state: Vec<u8>,
    document: PathBuf,
}

/// Lays out a container with these metadata files, each mounted as CDI does it.
fn container(directory: &Path, files: &[String]) -> Result<Container> {
    let rootfs = directory.join("rootfs");
    let bind = |source: &Path, target: &Path| {
        stdout_of(Command::new("mount").arg("--bind").args([source, target]))
    };
    for (number, text) in files.iter().enumerate() {
        let source = directory.join(format!("metadata-{number}.json"));
        let place = "var/run/kubernetes.io/dra-device-attributes/resourceclaims/nic";
        let target = rootfs.join(format!(
            "{place}/vf{number}/sriov.example.com-metadata.json"
        ));
        fs::create_dir_all(target.parent().context("no directory")?)?;
        fs::write(&source, text)?;
        fs::write(&target, "")?;
        bind(&source, &target)?;
    }
    let mount = rootfs.join(way::VM_MOUNT.trim_start_matches('/'));
    fs::create_dir_all(&mount)?;
    stdout_of(
        Command::new("mount")
            .args(["-t", "tmpfs", "tmpfs"])
            .arg(&mount),
    )?;
    let state = json!({"ociVersion": "1.0.2", "id": "bench", "status": "creating", "pid": 1,
                       "bundle": directory, "root": rootfs});
    Ok(Container {
        state: state.to_string().into_bytes(),
        document: mount.join("device-attributes.json"),
    })
}

/// A file of the most attributes of the most devices that fit it.
fn large_file(number: usize) -> String {
    let devices: Vec<Value> = (0..LARGE_DEVICES)
        .map(|device| {
            let attributes: serde_json::Map<String, Value> = (0..32)
                .map(|key| {
                    let value = json!({"string": format!("{key:064}")});
                    (format!("example.com/attribute-{key:02}"), value)
                })
                .collect();
            json!({"driver": "sriov.example.com", "pool": "worker-0",
                   "name": format!("device-{device}"), "attributes": attributes})
        })
        .collect();
    json!({
        "kind": "DeviceMetadata", "apiVersion": "metadata.resource.k8s.io/v1beta1",
        "metadata": {"name": "nic", "namespace": "default", "uid": "u", "generation": 1},
        "requests": [{"name": format!("vf{number}"), "devices": devices}],
    })
    .to_string()
}
