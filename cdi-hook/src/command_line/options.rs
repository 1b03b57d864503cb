//! The options of the hook's commands, each by itself: the code that reads one names it here.

use super::{CommandOption, Count, ValueKind};

/// Where the document goes.
pub static VM_MOUNT: CommandOption = CommandOption::directory(
    "vm-mount",
    "Directory of the container to write into; it must be a mount of its own",
)
.or("/var/run/device-attributes");

/// What may be mounted there.
pub static VM_MOUNT_SOURCE: CommandOption = CommandOption::valued(
    "vm-mount-source",
    "SOURCE",
    ValueKind::OneOf(&["pod", "any"]),
    "What the VM mount of a Kubernetes pod may be: pod takes an emptyDir of that very pod, \
            any takes whatever is mounted there",
)
.or("pod")
.described("Where the runtime names no pod (podman, ctr), every mount will do.");

/// Directories of the node with metadata.
pub static METADATA_DIR: CommandOption = CommandOption::directory(
    "metadata-dir",
    "Directory of the node with DRA metadata files, beside those of the container",
)
.given(Count::Repeated);

/// Files of the node with attributes.
pub static ATTRIBUTES: CommandOption = CommandOption::file(
    "attributes",
    "File of the node with attributes, in any form that the agent reads",
)
.given(Count::Repeated);

/// Which attributes leave the node.
pub static EXPORT: CommandOption = CommandOption::valued(
    "export",
    "KEY",
    ValueKind::Text,
    "Driver attributes that may stand under \"attributes\" in the document, by their full names or by \
     patterns of them with * and ?",
)
.given(Count::List)
.described(
    "Without it all do: they are what upstream publishes to the container in any case. What the \
     document's other fields say (PCI address, MAC, NUMA node, …) is not touched. To be strict, name \
     what the guest needs, or a name that no driver has, like none, for nothing at all.",
);

/// What broken input means.
pub static ON_ERROR: CommandOption = CommandOption::valued(
    "on-error",
    "POLICY",
    ValueKind::OneOf(&["fail", "skip"]),
    "What broken metadata and attributes mean for the container: fail keeps it from starting, \
            skip lets it start with what is left, or without a document",
)
.or("fail")
.described("What the hook refuses for safety keeps the container from starting in any case.");

/// The log.
pub static LOG: CommandOption = CommandOption::file(
    "log",
    "File of the node that messages are appended to; crun and youki drop a hook's output",
);

/// Where the hook is.
pub static HOOK_PATH: CommandOption =
    CommandOption::file("hook-path", "Where the hook is installed on the node")
        .or("/usr/local/bin/dra-cdi-hook");

/// Which spec is printed.
pub static FORM: CommandOption = CommandOption::valued(
    "form",
    "FORM",
    ValueKind::OneOf(&["cdi", "hooks.d", "oci"]),
    "What to print: a CDI spec; an entry of a hooks.d directory (oci-hooks(5)) for the annotation \
            dra-guest/hook=true; or hooks of an OCI configuration",
)
.or("cdi");

/// Where the hook goes.
pub static PREFIX: CommandOption = CommandOption::directory(
    "prefix",
    "Directory of the node below which the hook is, in bin",
)
.or("/usr/local");

/// Where the CDI spec goes.
pub static CDI_DIR: CommandOption = CommandOption::directory(
    "cdi-dir",
    "Directory of the node for the CDI spec, one that the runtime reads",
)
.or("/etc/cdi")
.described("Without it /var/run/cdi, where other specs come and go, is made as well.");

/// Where the `hooks.d` entry goes.
pub static HOOKS_DIR: CommandOption = CommandOption::directory(
    "hooks-dir",
    "Directory of the node for a hooks.d entry, which CRI-O and podman read; without it there is none",
)
.described(
    "With it every pod that carries the annotation dra-guest/hook=true gets the hook.",
);

/// The node's root directory.
pub static ROOT: CommandOption = CommandOption::directory(
    "root",
    "Where the node's root directory is, seen from here; all other paths are the node's",
)
.or("/");

/// Only tell.
pub static DRY_RUN: CommandOption =
    CommandOption::switch("dry-run", "Say what would be done, and change nothing");

/// Again and again.
pub static EVERY: CommandOption = CommandOption::valued(
    "every",
    "SECONDS",
    ValueKind::Number {
        least: 1,
        most: 86_400,
    },
    "Go on, and do it again every so many seconds: what is lost comes back",
)
.described(
    "For a DaemonSet. What is as it should be is told of once only. A failure ends the first round, and \
     is told of in later ones.",
);

/// Also what is not ours.
pub static FORCE: CommandOption = CommandOption::switch(
    "force",
    "Also replace or remove a file that is not as an installation left it",
);

/// The kubelet's directory.
pub static KUBELET: CommandOption =
    CommandOption::directory("kubelet", "The kubelet's directory on the node")
        .or("/var/lib/kubelet");

/// For programs.
pub static JSON: CommandOption = CommandOption::switch("json", "Print JSON");

/// The claim.
pub static CLAIM: CommandOption = CommandOption::file(
    "claim",
    "The ResourceClaim, as kubectl get --output=json prints it; required, but for --remove",
);

/// The slices.
pub static SLICES: CommandOption = CommandOption::file(
    "slices",
    "ResourceSlices, one or a list, in JSON: the devices' attributes",
)
.given(Count::Repeated)
.described(
    "At most 1 MiB each: let the API server choose those of a node with --field-selector \
     spec.nodeName=NODE. Without them the devices have their names and what the driver wrote on the \
     claim.",
);

/// Where a generated spec goes.
pub static OUT: CommandOption = CommandOption::directory(
    "out",
    "Directory of the node for the CDI spec, dra-guest-claim_UID.json",
)
.or("/var/run/cdi");

/// Where generated metadata goes.
pub static METADATA_OUT: CommandOption = CommandOption::directory(
    "metadata-out",
    "Directory of the node for the metadata files, in a directory of the claim's UID",
)
.or("/var/run/dra-guest/claims");

/// Only print.
pub static PRINT: CommandOption = CommandOption::switch(
    "print",
    "Print the metadata and the spec, and write nothing",
);

/// Take away again.
pub static REMOVE: CommandOption = CommandOption::valued(
    "remove",
    "UID",
    ValueKind::Text,
    "Remove what was generated for the claim of this UID",
);
