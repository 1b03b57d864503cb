//! A demo that is interrupted half-way: by Ctrl-C, or by `kill`.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use dra_guest_tests::command::stdout_of;
use dra_guest_tests::interrupt;
use dra_guest_tests::programs::target_directory;
use dra_guest_tests::wait;
use dra_guest_tests::way_on_node::Arrival;

/// Its step when all is running: the cluster, pods, and the guest.
const MOMENT: &str = "boot the guest";

/// A demo that ends with the check, also where that fails half-way.
struct Demo(Child);

impl Drop for Demo {
    fn drop(&mut self) {
        // Usually it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn leaves_nothing(_: &mut Arrival) -> Result<()> {
    let mut demo = Demo(
        Command::new(env!("CARGO_BIN_EXE_demo-cluster"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?,
    );
    let id = demo.0.id();
    let mut output = BufReader::new(demo.0.stdout.take().context("its output")?);
    let mut said = String::new();
    while !said.contains(MOMENT) {
        let length = output.read_line(&mut said)?;
        ensure!(length > 0, "it ended before it came to {MOMENT}: {said}");
    }
    let state = target_directory()?.join("cluster/demo");
    let started = wait::until("QEMU runs", wait::PATIENCE, || {
        let started = programs_of(id)?;
        let runs = started.iter().any(|words| words.contains("qemu-system"));
        Ok(runs.then_some(started))
    })?;
    for name in [
        "etcd",
        "kube-apiserver",
        "unshare",
        "dra-driver",
        "virtiofsd",
    ] {
        ensure!(
            started.iter().any(|words| words.contains(name)),
            "no {name} in {started:#?}"
        );
    }
    // Those of the guest, its image and the relay.
    let directories = directories_in(&started);
    ensure!(directories.len() == 3, "{directories:#?} in {started:#?}");
    ensure!(
        state.join("data").exists(),
        "there is no {}",
        state.display()
    );

    stdout_of(Command::new("kill").args(["-INT", &id.to_string()]))?;
    let mut errors = String::new();
    let mut stream = demo.0.stderr.take().context("its errors")?;
    stream.read_to_string(&mut errors)?;
    let status = demo.0.wait()?;
    ensure!(
        status.code() == Some(interrupt::EXIT_CODE.into()),
        "{status}: {errors}"
    );
    for directory in directories.iter().chain([&state.join("data")]) {
        ensure!(!directory.exists(), "{} is left", directory.display());
    }
    let node = state.display().to_string();
    for process in fs::read_dir("/proc")?.flatten() {
        let words = words_of(&process.path());
        ensure!(!words.contains(&node), "it runs still: {words}");
    }
    for hierarchy in fs::read_dir("/sys/fs/cgroup")?.flatten() {
        let own = format!("dra-guest-tests-{id}-0");
        for path in [
            hierarchy.path().join(&own),
            hierarchy.path().with_file_name(&own),
        ] {
            ensure!(!path.exists(), "{} is left", path.display());
        }
    }
    Ok(())
}

/// The command lines of the programs that a process has started.
fn programs_of(parent: u32) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for process in fs::read_dir("/proc")?.flatten() {
        // What has ended in the meantime is none. After the name in brackets: state, parent.
        let stat = fs::read_to_string(process.path().join("stat")).unwrap_or_default();
        let after = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        if after.split_whitespace().nth(1) == Some(&parent.to_string()) {
            found.insert(words_of(&process.path()));
        }
    }
    Ok(found)
}

fn words_of(process: &Path) -> String {
    let words = fs::read(process.join("cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).replace('\0', " ")
}

/// The demo's directories of its own that command lines name.
fn directories_in(programs: &BTreeSet<String>) -> BTreeSet<PathBuf> {
    const START: &str = "/tmp/dra-guest-";
    programs
        .iter()
        .flat_map(|words| words.match_indices(START).map(|(at, _)| &words[at..]))
        .filter_map(|rest| {
            let end = START.len() + rest.get(START.len()..)?.find('/')?;
            Some(PathBuf::from(rest.get(..end)?))
        })
        .collect()
}
