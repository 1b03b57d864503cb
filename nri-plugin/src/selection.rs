//! Which containers get the hook: those of VMs that have something to say and somewhere to say it.

use std::str::FromStr;

use device_attributes::Name;

use crate::protocol::detail::{Container, Hook, PodSandbox};

/// The annotation of a pod that wants no hook from this plugin: `off`. `KubeVirt` copies it from the VM.
pub const OPT_OUT: &str = "dra-guest/nri";
/// The CDI device by which a driver asks for the hook itself.
pub const CDI_DEVICE: &str = "dra-guest/vm=attributes";
/// The hook's own name.
const PROGRAM: &str = "dra-cdi-hook";
/// Where metadata files are mounted (KEP-5304): since Kubernetes 1.36, and by drivers built on drafts of it.
const METADATA: [&str; 2] = [
    "/var/run/kubernetes.io/dra-device-attributes/",
    "/var/run/dra-device-attributes/",
];

/// A label of pods, `key=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    key: String,
    value: String,
}

/// Why a text is no [`Label`].
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not KEY=VALUE, like kubevirt.io=virt-launcher")]
pub struct LabelError(String);

impl FromStr for Label {
    type Err = LabelError;

    fn from_str(text: &str) -> Result<Self, LabelError> {
        match text.split_once('=') {
            Some((key, value)) if !key.is_empty() && !value.is_empty() => Ok(Self {
                key: key.to_owned(),
                value: value.to_owned(),
            }),
            _ => Err(LabelError(text.to_owned())),
        }
    }
}

/// What is looked for.
#[derive(Debug, Clone)]
pub struct Selection {
    /// The label of the pods.
    pub pod_label: Label,
    /// The name of the container.
    pub container: Name,
    /// The VM mount's path in the container.
    pub vm_mount: String,
    /// Where the hook is on the node.
    pub hook: String,
}

/// What a container is to this plugin.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// None of a VM.
    Foreign,
    /// Of a VM whose owner wants no document.
    OptedOut,
    /// Of a VM that has no directory for it.
    NoVmMount,
    /// Of a VM, and it has what the hook needs.
    Vm {
        /// The VM mount's source on the node.
        volume: &'a str,
        /// Destinations and sources of metadata files, sorted.
        metadata: Vec<(&'a str, &'a str)>,
        /// The arguments of the hook that a driver has asked for already.
        asked: Option<&'a [String]>,
        /// Whether the CDI device says that a driver has asked.
        asked_by_device: bool,
    },
}

impl Selection {
    /// Judges a container.
    pub fn judge<'a>(&self, pod: &PodSandbox, container: &'a Container) -> Verdict<'a> {
        let labelled = pod.labels.get(&self.pod_label.key) == Some(&self.pod_label.value);
        if container.name != self.container.as_str() || !labelled {
            return Verdict::Foreign;
        }
        if pod
            .annotations
            .get(OPT_OUT)
            .is_some_and(|value| value == "off")
        {
            return Verdict::OptedOut;
        }
        let hooks = container.hooks.as_ref();
        let asked = hooks.and_then(|hooks| {
            let mut hooks = hooks.create_container.iter();
            hooks.find(|hook| self.is_ours(hook))
        });
        let asked = asked.map(|hook| hook.args.as_slice());
        // A later mount at one place is the one that is seen.
        let mount = |path: &str| {
            container
                .mounts
                .iter()
                .rev()
                .find(|mount| same_place(&mount.destination, path))
        };
        let vm_mount = asked.and_then(vm_mount_of).unwrap_or(&self.vm_mount);
        let Some(volume) = mount(vm_mount) else {
            return Verdict::NoVmMount;
        };
        let mut metadata: Vec<(&str, &str)> = container
            .mounts
            .iter()
            .filter(|mount| {
                METADATA
                    .iter()
                    .any(|directory| mount.destination.starts_with(directory))
            })
            .map(|mount| (mount.destination.as_str(), mount.source.as_str()))
            .collect();
        metadata.sort_unstable();
        Verdict::Vm {
            volume: &volume.source,
            metadata,
            asked,
            asked_by_device: container
                .cdi_devices
                .iter()
                .any(|device| device.name == CDI_DEVICE),
        }
    }

    fn is_ours(&self, hook: &Hook) -> bool {
        let named = hook.path == self.hook || hook.path.rsplit('/').next() == Some(PROGRAM);
        named
            && hook
                .args
                .get(1)
                .is_some_and(|command| command == "create-container")
    }
}

/// The VM mount that a hook was told, where that is not the usual one.
fn vm_mount_of(arguments: &[String]) -> Option<&str> {
    arguments
        .iter()
        .find_map(|argument| argument.strip_prefix("--vm-mount="))
}

/// Whether two paths of a container are one, but for a slash at the end and `/var/run`, which is `/run`.
fn same_place(one: &str, other: &str) -> bool {
    plain(one) == plain(other)
}

/// A path's part below `/run`, if it is there; else all of it.
fn plain(path: &str) -> (bool, &str) {
    let path = path.trim_end_matches('/');
    let below = path
        .strip_prefix("/var/run/")
        .or_else(|| path.strip_prefix("/run/"));
    (below.is_some(), below.unwrap_or(path))
}
