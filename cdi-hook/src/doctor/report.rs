//! What the doctor found: the shape of `--json`, and of a bug report.

use serde::Serialize;

/// All of it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    /// This program's version.
    pub(super) version: &'static str,
    /// The kernel's release, where it is known.
    pub(super) kernel: Option<String>,
    /// `SELinux`: `enforcing` or `permissive`; none where it is off.
    pub(super) selinux: Option<&'static str>,
    /// The container runtimes.
    pub(super) runtimes: Vec<Runtime>,
    /// The directories of CDI specs, those of a higher priority later.
    pub(super) cdi_directories: Vec<CdiDirectory>,
    /// What asks for the hook.
    pub(super) askers: Vec<Asker>,
    /// The hook's binaries that these name.
    pub(super) hooks: Vec<HookBinary>,
    /// NRI, by which a plugin asks for the hook.
    pub(super) nri: Nri,
    /// The DRA drivers.
    pub(super) drivers: Vec<Driver>,
    /// What shows of KubeVirt.
    pub(super) kubevirt: KubeVirt,
    /// What is to be done or known, in the order of the above.
    pub(super) findings: Vec<Finding>,
}

/// A container runtime or engine.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Runtime {
    /// Its name, like `containerd`.
    pub(super) name: &'static str,
    /// Where it is.
    pub(super) path: String,
    /// The first line that it says of its version; none where it was not run.
    pub(super) version: Option<String>,
    /// Its configuration files that were read.
    pub(super) configuration: Vec<String>,
    /// CDI; none for a low-level runtime, which does not know of it.
    pub(super) cdi: Option<Cdi>,
}

/// Whether a runtime gives devices by CDI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Cdi {
    /// It does.
    On,
    /// Its configuration says no, or it is off unless that says yes.
    Off,
    /// It is too old to know of it.
    Unsupported,
    /// Its version, on which it depends, is not known.
    Unknown,
}

/// A directory of CDI specs.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CdiDirectory {
    /// Its path.
    pub(super) path: String,
    /// Who reads it.
    pub(super) read_by: Vec<&'static str>,
    /// Whether it is there.
    pub(super) exists: bool,
    /// Its specs.
    pub(super) specs: Vec<CdiSpec>,
}

/// A CDI spec.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CdiSpec {
    /// Its file name.
    pub(super) file: String,
    /// Its version.
    pub(super) cdi_version: Option<String>,
    /// Its kind.
    pub(super) kind: Option<String>,
    /// The names of its devices; of a YAML file they are not read.
    pub(super) devices: Vec<String>,
    /// Why it cannot be used.
    pub(super) problem: Option<String>,
}

/// Something that makes a runtime run the hook.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Asker {
    /// `CDI` or `hooks.d`.
    pub(super) by: &'static str,
    /// The file.
    pub(super) file: String,
    /// The CDI device; none of a `hooks.d` entry.
    pub(super) device: Option<String>,
    /// The hook's path.
    pub(super) path: String,
    /// The hook's arguments after its name.
    pub(super) arguments: Vec<String>,
    /// What is wrong with the entry.
    #[serde(skip)]
    pub(super) problems: Vec<(String, String)>,
}

/// The hook's binary, as a runtime would start it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HookBinary {
    /// Its path.
    pub(super) path: String,
    /// Its version; none where it is another program or was not run.
    pub(super) version: Option<String>,
    /// Whether it is this very program.
    pub(super) same: bool,
    /// Its `SELinux` label.
    pub(super) label: Option<String>,
    /// What is wrong with it, and what to do.
    #[serde(skip)]
    pub(super) problems: Vec<(String, String)>,
}

/// NRI.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Nri {
    /// The runtime's socket, where it is.
    pub(super) socket: Option<String>,
    /// Whether `dra-guest-nri` runs.
    pub(super) plugin_runs: bool,
}

/// A DRA driver.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Driver {
    /// Its name.
    pub(super) name: String,
    /// Its metadata files.
    pub(super) metadata_files: usize,
    /// The versions in them, sorted.
    pub(super) metadata_versions: Vec<String>,
    /// Files that cannot be read, each with the reason.
    pub(super) unreadable: Vec<String>,
}

/// KubeVirt, as far as the node shows it.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct KubeVirt {
    /// Pods with a container `compute`: VMs.
    pub(super) vms: usize,
    /// Those with the volume of the policy `dra-guest-vm-mount`.
    pub(super) with_vm_mount: usize,
    /// Those where the hook has written a document into it.
    pub(super) with_document: usize,
    /// Those with a virtiofs container, which need the gate `ContainerPathVolumes`.
    pub(super) with_virtiofs: usize,
    /// Whether `/dev/vhost-vsock` is there, which the gate `VSOCK` needs.
    pub(super) vsock: bool,
}

/// Something to be done or known.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Finding {
    /// How bad it is.
    pub(super) level: Level,
    /// What is so.
    pub(super) what: String,
    /// What to do about it.
    pub(super) remedy: String,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Level {
    /// It keeps the hook from working, or makes it unsafe: exit code 1.
    Problem,
    /// Worth knowing.
    Note,
}
