//! The command line.

use clap::{Args, Parser, Subcommand, ValueEnum};
use device_attributes::Name;

use crate::absolute_path::AbsolutePath;

/// Where the VM mount is in the container, unless told otherwise. `KubeVirt` keeps
/// `/var/run/kubevirt*` for itself there.
pub(crate) const VM_MOUNT: &str = "/var/run/device-attributes";
/// Where the hook is installed, unless told otherwise.
pub(crate) const HOOK_PATH: &str = "/usr/local/bin/dra-cdi-hook";

/// Carries the attributes of DRA devices from a container into its VM.
#[derive(Debug, Parser)]
#[command(
    name = "dra-cdi-hook",
    version,
    about,
    after_help = "Exit codes: 0 done, 1 failed, 2 wrong usage.\n\
                  DRA_GUEST_LOG=error|warn|info|debug sets how much is logged (default: info)."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write device-attributes.json into the VM mount (run by a container runtime)
    ///
    /// An OCI createContainer hook: reads the container's state on standard input, gathers the
    /// DRA metadata files that are mounted in the container below
    /// /var/run/kubernetes.io/dra-device-attributes (and those of --metadata-dir and
    /// --attributes), and writes one document into the VM mount. Where there are none it writes
    /// nothing and succeeds.
    CreateContainer(HookOptions),
    /// Print the CDI spec of the device dra-guest/vm=attributes
    ///
    /// Options of create-container that are given here go into the spec. To put it in use:
    /// dra-cdi-hook spec > /etc/cdi/dra-guest-vm.json
    Spec(SpecOptions),
}

/// The options of `create-container`, which `spec` passes on.
#[derive(Debug, Args)]
pub(crate) struct HookOptions {
    /// Directory of the container to write into; it must be a mount of its own
    #[arg(long, value_name = "DIR", default_value = VM_MOUNT)]
    pub(crate) vm_mount: AbsolutePath,

    /// What the VM mount of a Kubernetes pod may be: pod takes an emptyDir of that very pod, any takes
    /// whatever is mounted there
    ///
    /// Where the runtime names no pod (podman, ctr), every mount will do.
    #[arg(long, value_name = "SOURCE", value_enum, default_value_t = VmMountSource::Pod)]
    pub(crate) vm_mount_source: VmMountSource,

    /// Directory of the node with DRA metadata files, beside those of the container (repeatable)
    #[arg(long, value_name = "DIR")]
    pub(crate) metadata_dir: Vec<AbsolutePath>,

    /// File of the node with attributes, in any form that the agent reads (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(crate) attributes: Vec<AbsolutePath>,

    /// Driver attributes that may stand under "attributes" in the document, by their full names
    ///
    /// Without it all do. What the document's other fields say (PCI address, MAC, NUMA node, …)
    /// is not touched.
    #[arg(long, value_name = "KEY", num_args = 1..)]
    pub(crate) export: Vec<Name>,

    /// What broken metadata and attributes mean for the container: fail keeps it from starting, skip
    /// lets it start with what is left, or without a document
    ///
    /// What the hook refuses for safety keeps the container from starting in any case.
    #[arg(long, value_name = "POLICY", value_enum, default_value_t = OnError::Fail)]
    pub(crate) on_error: OnError,

    /// File of the node that messages are appended to; crun and youki drop a hook's output
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<AbsolutePath>,
}

/// The options of `spec`.
#[derive(Debug, Args)]
pub(crate) struct SpecOptions {
    /// Where the hook is installed on the node
    #[arg(long, value_name = "FILE", default_value = HOOK_PATH)]
    pub(crate) hook_path: AbsolutePath,

    #[command(flatten)]
    pub(crate) hook: HookOptions,
}

/// What broken metadata or attributes mean for the container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnError {
    /// Exit 1: the runtime does not start the container.
    Fail,
    /// A message and exit 0: what is broken is left out, and the container starts.
    Skip,
}

/// What the VM mount of a pod may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum VmMountSource {
    /// An emptyDir of the pod that the runtime names.
    Pod,
    /// Any mount.
    Any,
}

impl HookOptions {
    /// The arguments that give these options again; defaults are left out.
    pub(crate) fn to_arguments(&self) -> Vec<String> {
        let mut arguments = Vec::new();
        // One argument each: a value is never taken for an option, nor an option for one more value.
        let mut option = |name: &str, value: &str| arguments.push(format!("{name}={value}"));
        if self.vm_mount.as_str() != VM_MOUNT {
            option("--vm-mount", self.vm_mount.as_str());
        }
        if self.vm_mount_source == VmMountSource::Any {
            option("--vm-mount-source", "any");
        }
        for directory in &self.metadata_dir {
            option("--metadata-dir", directory.as_str());
        }
        for file in &self.attributes {
            option("--attributes", file.as_str());
        }
        for key in &self.export {
            option("--export", key.as_str());
        }
        if self.on_error == OnError::Skip {
            option("--on-error", "skip");
        }
        if let Some(log) = &self.log {
            option("--log", log.as_str());
        }
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn options_survive_the_way_through_a_spec() {
        let given = [
            "--vm-mount=/vm",
            "--vm-mount-source=any",
            "--metadata-dir=/a",
            "--metadata-dir=/b=c d",
            "--attributes=/c",
            "--export=x/y",
            "--export=--log",
            "--on-error=skip",
            "--log=/l",
        ];
        let parsed =
            Cli::try_parse_from(["dra-cdi-hook", "create-container"].iter().chain(&given)).unwrap();
        let Command::CreateContainer(options) = parsed.command else {
            panic!("create-container was asked for");
        };
        assert_eq!(options.to_arguments(), given);
    }
}
