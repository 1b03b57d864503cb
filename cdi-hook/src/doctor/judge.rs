//! From what was found to what is to be done about it.

use super::report::{Cdi, CdiDirectory, Finding, Level, Report, Runtime};
use super::runtimes::Found;
use crate::install::SPEC_FILE;
use crate::spec::{DEVICE, KIND};

/// The version of metadata that KubeVirt 1.9 reads, and no other (`pkg/dra/metadata/types.go`).
const KUBEVIRT_READS: &str = "metadata.resource.k8s.io/v1alpha1";

/// Findings as they are added.
#[derive(Debug, Default)]
pub(super) struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, level: Level, what: impl Into<String>, remedy: impl Into<String>) {
        self.0.push(Finding {
            level,
            what: what.into(),
            remedy: remedy.into(),
        });
    }

    fn problem(&mut self, what: impl Into<String>, remedy: impl Into<String>) {
        self.add(Level::Problem, what, remedy);
    }

    fn note(&mut self, what: impl Into<String>, remedy: impl Into<String>) {
        self.add(Level::Note, what, remedy);
    }
}

/// Judges all that was found.
pub(super) fn judge(report: &Report, runtimes: &[Found]) -> Vec<Finding> {
    let mut findings = Findings::default();
    kernel(report, &mut findings);
    for found in runtimes {
        engine(report, found, &mut findings);
    }
    if runtimes.iter().all(|found| found.runtime.cdi.is_none()) {
        findings.problem(
            "no container engine was found: containerd, CRI-O, podman or Docker",
            "run this on the node, or name the node's root directory with --root",
        );
    }
    for directory in &report.cdi_directories {
        specs(directory, &mut findings);
    }
    overrides(report, &mut findings);
    askers(report, runtimes, &mut findings);
    labels(report, &mut findings);
    kubernetes(report, &mut findings);
    findings.0
}

fn kernel(report: &Report, findings: &mut Findings) {
    let numbers = report.kernel.as_deref().and_then(super::program::numbers);
    if numbers.is_some_and(|numbers| numbers < (5, 8)) {
        findings.problem(
            format!(
                "the kernel is {}: the hook needs openat2 and mount numbers of Linux 5.8",
                report.kernel.as_deref().unwrap_or_default()
            ),
            "update the node's kernel",
        );
    }
}

/// Whether an engine gives devices. What is not Kubernetes' own matters only where there is nothing else.
fn engine(report: &Report, found: &Found, findings: &mut Findings) {
    let Found {
        runtime,
        unreadable,
        ..
    } = found;
    for file in unreadable {
        findings.note(
            format!("a configuration of {} cannot be read: {file}", runtime.name),
            "correct it: the runtime may refuse it too",
        );
    }
    let serves_pods = |runtime: &Runtime| matches!(runtime.name, "containerd" | "crio");
    let level = if serves_pods(runtime) || !report.runtimes.iter().any(serves_pods) {
        Level::Problem
    } else {
        Level::Note
    };
    let version = runtime.version.as_deref().unwrap_or(runtime.name);
    match runtime.cdi {
        Some(Cdi::Off) => {
            let remedy = match runtime.name {
                "dockerd" => "set \"features\": {\"cdi\": true} in /etc/docker/daemon.json, and restart it",
                _ => "set enable_cdi = true in [plugins.\"io.containerd.grpc.v1.cri\"] (version 3 of the file: take enable_cdi = false out), and restart it",
            };
            findings.add(level, format!("{version}: CDI is off"), remedy);
        }
        Some(Cdi::Unsupported) => findings.add(
            level,
            format!("{version} is too old for CDI"),
            "update it (containerd 2, podman 4.1, Docker 28.2), or ask for the hook by hooks.d or base_runtime_spec",
        ),
        Some(Cdi::Unknown) => findings.note(
            format!("the version of {} is not known, and whether CDI is on depends on it", runtime.path),
            "run dra-cdi-hook doctor on the node itself; containerd before 2.0 needs enable_cdi = true",
        ),
        Some(Cdi::On) | None => {}
    }
}

/// What is wrong inside one directory of specs.
fn specs(directory: &CdiDirectory, findings: &mut Findings) {
    let mut devices: Vec<(String, &str)> = Vec::new();
    for spec in &directory.specs {
        let path = format!("{}/{}", directory.path, spec.file);
        if let Some(problem) = &spec.problem {
            let level = if spec.file == SPEC_FILE {
                Level::Problem
            } else {
                Level::Note
            };
            findings.add(
                level,
                format!("{path} cannot be used as a CDI spec: {problem}"),
                "write it anew, or remove it: its devices do not resolve",
            );
        }
        let kind = spec.kind.as_deref().unwrap_or_default();
        for device in &spec.devices {
            let device = format!("{kind}={device}");
            match devices.iter().find(|(known, _)| *known == device) {
                Some((_, other)) => findings.problem(
                    format!("{path} and {other} in the same directory both have {device}: runtimes drop both"),
                    "remove one of the two files",
                ),
                None => devices.push((device, &spec.file)),
            }
        }
    }
}

/// A later directory takes a device over, without a word of the runtime.
fn overrides(report: &Report, findings: &mut Findings) {
    let mut devices: Vec<(String, String)> = Vec::new();
    for directory in &report.cdi_directories {
        for spec in &directory.specs {
            let path = format!("{}/{}", directory.path, spec.file);
            let kind = spec.kind.as_deref().unwrap_or_default();
            for device in &spec.devices {
                let device = format!("{kind}={device}");
                let known = devices.iter_mut().find(|(known, _)| *known == device);
                match known {
                    // Of one directory: told already.
                    Some((_, other))
                        if other.rsplit_once('/').map(|(d, _)| d) == Some(&directory.path) => {}
                    Some((_, other)) => {
                        findings.note(
                            format!("{device} of {other} is hidden by {path}, whose directory has priority"),
                            "remove the one that is not meant",
                        );
                        other.clone_from(&path);
                    }
                    None => devices.push((device, path.clone())),
                }
            }
        }
    }
}

/// Whether something asks for the hook, and each engine sees it.
fn askers(report: &Report, runtimes: &[Found], findings: &mut Findings) {
    for asker in &report.askers {
        for (what, remedy) in &asker.problems {
            findings.problem(what, remedy);
        }
    }
    for hook in &report.hooks {
        for (what, remedy) in &hook.problems {
            findings.problem(what, remedy);
        }
        let own = format!("dra-cdi-hook {}", env!("CARGO_PKG_VERSION"));
        if let Some(version) = hook.version.as_ref().filter(|version| **version != own) {
            findings.note(
                format!("{} is {version}, this is {own}", hook.path),
                "bring it up to date: dra-cdi-hook install",
            );
        }
    }
    let qualified = format!("{KIND}={DEVICE}");
    let specs: Vec<&str> = report
        .askers
        .iter()
        .filter(|asker| asker.device.as_deref() == Some(&qualified))
        .map(|asker| asker.file.as_str())
        .collect();
    if report.askers.is_empty() && !report.nri.plugin_runs {
        findings.problem(
            format!("nothing on this node asks for the hook: there is no CDI spec of {qualified}, no hooks.d entry, and dra-guest-nri does not run"),
            "run dra-cdi-hook install",
        );
    }
    for found in runtimes {
        let seen = |file: &&str| {
            file.rsplit_once('/').is_some_and(|(directory, _)| {
                found.cdi_directories.iter().any(|read| read == directory)
            })
        };
        let reads_specs = matches!(found.runtime.cdi, Some(Cdi::On | Cdi::Unknown));
        if reads_specs && !specs.is_empty() && !specs.iter().any(seen) {
            findings.problem(
                format!(
                    "{} does not see {qualified}: {} is in none of its directories ({})",
                    found.runtime.name,
                    specs.join(", "),
                    found.cdi_directories.join(", ")
                ),
                "put the spec where it looks, with dra-cdi-hook install --cdi-dir, or change its cdi_spec_dirs",
            );
        }
    }
}

/// Labels from which no runtime may start a program where `SELinux` is enforcing.
fn labels(report: &Report, findings: &mut Findings) {
    const WRONG: [&str; 5] = [
        "unlabeled_t",
        "user_home_t",
        "user_tmp_t",
        "tmp_t",
        "default_t",
    ];
    if report.selinux != Some("enforcing") {
        return;
    }
    for hook in &report.hooks {
        let label = hook.label.as_deref().unwrap_or("unlabeled_t");
        let kind = label.split(':').nth(2).unwrap_or(label);
        if WRONG.contains(&kind) {
            findings.problem(
                format!("the hook {} has the SELinux type {kind}, from which a runtime may start nothing", hook.path),
                format!("restorecon -v {}", hook.path),
            );
        }
    }
}

fn kubernetes(report: &Report, findings: &mut Findings) {
    for driver in &report.drivers {
        for file in &driver.unreadable {
            findings.note(
                format!("metadata of {} cannot be read: {file}", driver.name),
                "the hook will refuse it too: look at the driver's log",
            );
        }
        let versions = &driver.metadata_versions;
        if driver.metadata_files == 0 {
            findings.note(
                format!("the driver {} has no device metadata on this node", driver.name),
                "where pods use its devices: turn its flag for device metadata (KEP-5304) on, or see dra-cdi-hook generate --help",
            );
        } else if report.kubevirt.vms > 0
            && !versions.iter().any(|version| version == KUBEVIRT_READS)
        {
            findings.note(
                format!("the driver {} writes metadata of {} only; KubeVirt 1.9 itself reads {KUBEVIRT_READS}", driver.name, versions.join(", ")),
                "let the driver write both versions",
            );
        }
    }
    let kubevirt = &report.kubevirt;
    if kubevirt.vms == 0 {
        return;
    }
    if kubevirt.with_vm_mount == 0 {
        findings.note(
            "no VM of this node has the VM mount",
            "label the VM dra-guest/vm-mount: \"true\", with the policy of deploy/vm-mount installed, and start it anew",
        );
    } else if kubevirt.with_virtiofs == 0 {
        findings.note(
            "VMs have the VM mount, and none shares it with its guest",
            "turn KubeVirt's feature gate ContainerPathVolumes on, and give the VM a containerPath volume with a virtiofs filesystem",
        );
    }
    if !kubevirt.vsock {
        findings.note(
            "/dev/vhost-vsock is not there: guests cannot report",
            "modprobe vhost_vsock, and turn KubeVirt's feature gate VSOCK on",
        );
    }
}
