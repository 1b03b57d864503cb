//! `exec` against the command bare and against `numactl`, which do the same: CPUs and memory of one node.
//!
//! This machine need have one node only: its first is what is bound to, and a tree in the place of sysfs has
//! a second, so that `exec` does all that it does in a guest with two.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::json;

use super::hook::nothing;
use super::system_calls::{SystemCalls, count};
use super::timing::{Candidate, medians};
use crate::programs::static_program;
use crate::table::{Table, milliseconds, ratio};

/// How often each runs.
const ROUNDS: usize = 400;

/// The command, and what runs it.
#[derive(Debug)]
pub struct ExecBench {
    directory: PathBuf,
    bare: Vec<String>,
    exec: Vec<String>,
    numactl: Vec<String>,
}

/// Median wall times, and system calls until the command takes over.
#[derive(Debug, Clone)]
pub struct ExecFigures {
    /// A static C program that returns 0, with musl.
    pub bare: Duration,
    /// It by `dra-guest-agent exec`.
    pub exec: Duration,
    /// It by `numactl --cpunodebind --preferred`.
    pub numactl: Duration,
    /// The system calls that `exec` adds to the command's own.
    pub exec_calls: usize,
    /// Those that `numactl` adds.
    pub numactl_calls: usize,
}

impl ExecBench {
    /// Lays out the status and the trees below `directory`.
    ///
    /// # Errors
    /// When a file or the C program cannot be made.
    pub fn new(directory: &Path) -> Result<Self> {
        let directory = directory.join("exec");
        let text = |path: PathBuf| {
            let path = path.into_os_string().into_string().ok();
            path.context("a path is not UTF-8")
        };
        for (path, text) in tree() {
            let path = directory.join(path);
            fs::create_dir_all(path.parent().context("no directory")?)?;
            fs::write(path, text)?;
        }
        let command = text(nothing(&directory, "musl-gcc")?)?;
        let agent = text(static_program("dra-guest-agent")?)?;
        let (run, sys) = (text(directory.join("run"))?, text(directory.join("sys"))?);
        let exec = [
            &agent,
            "exec",
            "--run-root",
            &run,
            "--sys-root",
            &sys,
            "--device",
            "nic/vf",
            "--",
            &command,
        ];
        let numactl = [
            "numactl",
            "--cpunodebind=0",
            "--preferred=0",
            "--",
            &command,
        ];
        Ok(Self {
            bare: vec![command.clone()],
            exec: exec.map(str::to_owned).to_vec(),
            numactl: numactl.map(str::to_owned).to_vec(),
            directory,
        })
    }

    /// Measures.
    ///
    /// # Errors
    /// When one of the programs fails.
    pub fn measure(&self) -> Result<ExecFigures> {
        let candidates = [
            ("the command bare", &self.bare),
            ("dra-guest-agent exec", &self.exec),
            ("numactl", &self.numactl),
        ];
        let candidates = candidates.map(|(name, command)| Candidate {
            name,
            command: words(command),
            stdin: &[],
            reset: &|| Ok(()),
        });
        let [bare, exec, numactl] = <[Duration; 3]>::try_from(medians(ROUNDS, &candidates)?)
            .ok()
            .context("three candidates")?;
        let calls = |command: &[String]| -> Result<usize> {
            let SystemCalls { total, .. } = count(&words(command), &self.directory)?;
            Ok(total)
        };
        let own = calls(&self.bare)?;
        Ok(ExecFigures {
            bare,
            exec,
            numactl,
            exec_calls: calls(&self.exec)? - own,
            numactl_calls: calls(&self.numactl)? - own,
        })
    }
}

impl ExecFigures {
    /// For people.
    pub fn table(&self) -> Table {
        let mut table = Table::new([
            "program",
            "time",
            "more than bare",
            "to numactl's",
            "system calls more",
        ]);
        let more = |time: Duration| time.saturating_sub(self.bare);
        for (name, time, calls) in [
            ("bare", self.bare, 0),
            ("dra-guest-agent exec", self.exec, self.exec_calls),
            ("numactl", self.numactl, self.numactl_calls),
        ] {
            table.row([
                name.to_owned(),
                milliseconds(time),
                milliseconds(more(time)),
                ratio(more(time), more(self.numactl)),
                calls.to_string(),
            ]);
        }
        table
    }
}

fn words(command: &[String]) -> Vec<&str> {
    command.iter().map(String::as_str).collect()
}

/// A device on the first of two nodes, as the service has written it, among seven others.
fn tree() -> Vec<(&'static str, String)> {
    let devices = ["nic", "b", "c", "d", "e", "f", "g", "h"].map(|claim| {
        json!({
            "identity": {"claim": {"namespace": "default", "name": claim}, "request": "vf"},
            "ready": true, "reason": "Configured", "message": "", "interfaceName": format!("net-{claim}"),
            "macAddress": "02:00:00:00:00:01", "mtu": 1500, "addresses": ["192.0.2.5/24", "2001:db8::5/64"],
            "guestPciAddress": "0000:81:00.0", "numaNode": 0,
            "locality": {"near": {"nodes": "0", "cpus": "0", "by": "sysfs"}},
        })
    });
    let status = json!({
        "apiVersion": "dra-guest/v1", "kind": "Status", "agentVersion": "0.1.0", "ready": true,
        "source": "/run/kubevirt/device-attributes.json", "documentDigest": "sha256:00", "devices": devices,
    });
    let node = |file: &'static str, text: &str| (file, text.to_owned());
    vec![
        ("run/dra-guest/status.json", format!("{status:#}\n")),
        node("sys/devices/system/node/online", "0-1\n"),
        node("sys/devices/system/node/node0/cpulist", "0\n"),
        node("sys/devices/system/node/node1/cpulist", "1\n"),
    ]
}
