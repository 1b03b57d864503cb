//! The options of the hook's commands, each by itself: the code that reads one names it here.

use super::{CommandOption, Count, Value, ValueKind};

/// Where the document goes.
pub static VM_MOUNT: CommandOption = CommandOption {
    name: "vm-mount",
    value: Some(Value {
        name: "DIR",
        kind: ValueKind::Directory,
        count: Count::Once,
        default: Some("/var/run/device-attributes"),
    }),
    about: "Directory of the container to write into; it must be a mount of its own",
    description: "",
};

/// What may be mounted there.
pub static VM_MOUNT_SOURCE: CommandOption = CommandOption {
    name: "vm-mount-source",
    value: Some(Value {
        name: "SOURCE",
        kind: ValueKind::OneOf(&["pod", "any"]),
        count: Count::Once,
        default: Some("pod"),
    }),
    about: "What the VM mount of a Kubernetes pod may be: pod takes an emptyDir of that very pod, \
            any takes whatever is mounted there",
    description: "Where the runtime names no pod (podman, ctr), every mount will do.",
};

/// Directories of the node with metadata.
pub static METADATA_DIR: CommandOption = CommandOption {
    name: "metadata-dir",
    value: Some(Value {
        name: "DIR",
        kind: ValueKind::Directory,
        count: Count::Repeated,
        default: None,
    }),
    about: "Directory of the node with DRA metadata files, beside those of the container",
    description: "",
};

/// Files of the node with attributes.
pub static ATTRIBUTES: CommandOption = CommandOption {
    name: "attributes",
    value: Some(Value {
        name: "FILE",
        kind: ValueKind::File,
        count: Count::Repeated,
        default: None,
    }),
    about: "File of the node with attributes, in any form that the agent reads",
    description: "",
};

/// Which attributes leave the node.
pub static EXPORT: CommandOption = CommandOption {
    name: "export",
    value: Some(Value {
        name: "KEY",
        kind: ValueKind::Text,
        count: Count::List,
        default: None,
    }),
    about: "Driver attributes that may stand under \"attributes\" in the document, by their full names or by \
            patterns of them with * and ?",
    description: "Without it all do: they are what upstream publishes to the container in any case. What the \
                  document's other fields say (PCI address, MAC, NUMA node, …) is not touched. To be strict, \
                  name what the guest needs, or a name that no driver has, like none, for nothing at all.",
};

/// What broken input means.
pub static ON_ERROR: CommandOption = CommandOption {
    name: "on-error",
    value: Some(Value {
        name: "POLICY",
        kind: ValueKind::OneOf(&["fail", "skip"]),
        count: Count::Once,
        default: Some("fail"),
    }),
    about: "What broken metadata and attributes mean for the container: fail keeps it from starting, \
            skip lets it start with what is left, or without a document",
    description: "What the hook refuses for safety keeps the container from starting in any case.",
};

/// The log.
pub static LOG: CommandOption = CommandOption {
    name: "log",
    value: Some(Value {
        name: "FILE",
        kind: ValueKind::File,
        count: Count::Once,
        default: None,
    }),
    about: "File of the node that messages are appended to; crun and youki drop a hook's output",
    description: "",
};

/// Where the hook is.
pub static HOOK_PATH: CommandOption = CommandOption {
    name: "hook-path",
    value: Some(Value {
        name: "FILE",
        kind: ValueKind::File,
        count: Count::Once,
        default: Some("/usr/local/bin/dra-cdi-hook"),
    }),
    about: "Where the hook is installed on the node",
    description: "",
};

/// Which spec is printed.
pub static FORM: CommandOption = CommandOption {
    name: "form",
    value: Some(Value {
        name: "FORM",
        kind: ValueKind::OneOf(&["cdi", "hooks.d", "oci"]),
        count: Count::Once,
        default: Some("cdi"),
    }),
    about: "What to print: a CDI spec; an entry of a hooks.d directory (oci-hooks(5)) for the annotation \
            dra-guest/hook=true; or hooks of an OCI configuration",
    description: "",
};

/// Where the hook goes.
pub static PREFIX: CommandOption = CommandOption {
    name: "prefix",
    value: Some(Value {
        name: "DIR",
        kind: ValueKind::Directory,
        count: Count::Once,
        default: Some("/usr/local"),
    }),
    about: "Directory of the node below which the hook is, in bin",
    description: "",
};

/// Where the CDI spec goes.
pub static CDI_DIR: CommandOption = CommandOption {
    name: "cdi-dir",
    value: Some(Value {
        name: "DIR",
        kind: ValueKind::Directory,
        count: Count::Once,
        default: Some("/etc/cdi"),
    }),
    about: "Directory of the node for the CDI spec, one that the runtime reads",
    description: "Without it /var/run/cdi, where other specs come and go, is made as well.",
};

/// Where the `hooks.d` entry goes.
pub static HOOKS_DIR: CommandOption = CommandOption {
    name: "hooks-dir",
    value: Some(Value {
        name: "DIR",
        kind: ValueKind::Directory,
        count: Count::Once,
        default: None,
    }),
    about: "Directory of the node for a hooks.d entry, which CRI-O and podman read; without it there is none",
    description: "With it every pod that carries the annotation dra-guest/hook=true gets the hook.",
};

/// The node's root directory.
pub static ROOT: CommandOption = CommandOption {
    name: "root",
    value: Some(Value {
        name: "DIR",
        kind: ValueKind::Directory,
        count: Count::Once,
        default: Some("/"),
    }),
    about: "Where the node's root directory is, seen from here; all other paths are the node's",
    description: "",
};

/// Only tell.
pub static DRY_RUN: CommandOption = CommandOption {
    name: "dry-run",
    value: None,
    about: "Say what would be done, and change nothing",
    description: "",
};

/// Again and again.
pub static EVERY: CommandOption = CommandOption {
    name: "every",
    value: Some(Value {
        name: "SECONDS",
        kind: ValueKind::Text,
        count: Count::Once,
        default: None,
    }),
    about: "Go on, and do it again every so many seconds: what is lost comes back",
    description: "For a DaemonSet. What is as it should be is told of once only. A failure ends the first round, \
                  and is told of in later ones.",
};

/// Also what is not ours.
pub static FORCE: CommandOption = CommandOption {
    name: "force",
    value: None,
    about: "Also replace or remove a file that is not as an installation left it",
    description: "",
};

/// The kubelet's directory.
pub static KUBELET: CommandOption = CommandOption {
    name: "kubelet",
    value: Some(Value {
        name: "DIR",
        kind: ValueKind::Directory,
        count: Count::Once,
        default: Some("/var/lib/kubelet"),
    }),
    about: "The kubelet's directory on the node",
    description: "",
};

/// For programs.
pub static JSON: CommandOption = CommandOption {
    name: "json",
    value: None,
    about: "Print JSON",
    description: "",
};

/// The claim.
pub static CLAIM: CommandOption = CommandOption {
    name: "claim",
    value: Some(Value {
        name: "FILE",
        kind: ValueKind::File,
        count: Count::Once,
        default: None,
    }),
    about: "The ResourceClaim, as kubectl get --output=json prints it; required, but for --remove",
    description: "",
};

/// The slices.
pub static SLICES: CommandOption = CommandOption {
    name: "slices",
    value: Some(Value {
        name: "FILE",
        kind: ValueKind::File,
        count: Count::Repeated,
        default: None,
    }),
    about: "ResourceSlices, one or a list, in JSON: the devices' attributes",
    description: "At most 1 MiB each: let the API server choose those of a node with --field-selector spec.nodeName=NODE. Without them the devices have their names and what the driver wrote on the claim.",
};

/// Where a generated spec goes.
pub static OUT: CommandOption = CommandOption {
    name: "out",
    value: Some(Value {
        name: "DIR",
        kind: ValueKind::Directory,
        count: Count::Once,
        default: Some("/var/run/cdi"),
    }),
    about: "Directory of the node for the CDI spec, dra-guest-claim_UID.json",
    description: "",
};

/// Where generated metadata goes.
pub static METADATA_OUT: CommandOption = CommandOption {
    name: "metadata-out",
    value: Some(Value {
        name: "DIR",
        kind: ValueKind::Directory,
        count: Count::Once,
        default: Some("/var/run/dra-guest/claims"),
    }),
    about: "Directory of the node for the metadata files, in a directory of the claim's UID",
    description: "",
};

/// Only print.
pub static PRINT: CommandOption = CommandOption {
    name: "print",
    value: None,
    about: "Print the metadata and the spec, and write nothing",
    description: "",
};

/// Take away again.
pub static REMOVE: CommandOption = CommandOption {
    name: "remove",
    value: Some(Value {
        name: "UID",
        kind: ValueKind::Text,
        count: Count::Once,
        default: None,
    }),
    about: "Remove what was generated for the claim of this UID",
    description: "",
};
