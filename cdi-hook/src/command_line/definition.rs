//! The definition of the hook's command line.

use super::{Command, ExitMeaning, Program, Section};

/// The whole command line of `dra-cdi-hook`.
pub static PROGRAM: Program = Program {
    name: "dra-cdi-hook",
    version: env!("CARGO_PKG_VERSION"),
    about: "Carries the attributes of DRA devices from a container into its VM",
    commands: &[&CREATE_CONTAINER, &SPEC],
    exit_codes: &[
        ExitMeaning {
            code: 0,
            meaning: "done",
        },
        ExitMeaning {
            code: 1,
            meaning: "failed",
        },
        ExitMeaning {
            code: super::WRONG_USAGE,
            meaning: "wrong usage",
        },
    ],
    environment: &[(
        "DRA_GUEST_LOG",
        "how much is logged: error, warn, info (default) or debug",
    )],
};

/// `create-container`: the hook itself.
pub static CREATE_CONTAINER: Command = Command {
    name: "create-container",
    about: "Write device-attributes.json into the VM mount (run by a container runtime)",
    description: &[
        "An OCI createContainer hook: reads the container's state on standard input, gathers the DRA \
         metadata files that are mounted in the container below \
         /var/run/kubernetes.io/dra-device-attributes (and those of --metadata-dir and --attributes), \
         and writes one document into the VM mount. Where there are none it writes nothing and succeeds.",
    ],
    sections: &[&HOOK_SECTION],
    examples: &[],
    run: crate::create_container_of,
};

/// `spec`: the CDI spec that asks for the hook.
pub static SPEC: Command = Command {
    name: "spec",
    about: "Print the CDI spec of the device dra-guest/vm=attributes",
    description: &[
        "Options of create-container that are given here go into the spec.",
        "To put it in use on this node, with the hook itself: dra-cdi-hook install.",
    ],
    sections: &[
        &Section {
            heading: "Options",
            options: &[&options::HOOK_PATH],
        },
        &PASSED_ON,
    ],
    examples: &[],
    run: crate::spec::main,
};

/// The options of `create-container`.
pub static HOOK_SECTION: Section = Section {
    heading: "Options",
    options: HOOK_OPTIONS,
};

/// The same, where they are passed on to the hook.
static PASSED_ON: Section = Section {
    heading: "Options of the hook, which go into the spec",
    options: HOOK_OPTIONS,
};

const HOOK_OPTIONS: &[&super::CommandOption] = &[
    &options::VM_MOUNT,
    &options::VM_MOUNT_SOURCE,
    &options::METADATA_DIR,
    &options::ATTRIBUTES,
    &options::EXPORT,
    &options::ON_ERROR,
    &options::LOG,
];

/// Each option by itself: the code that reads it names it here.
pub mod options {
    use crate::command_line::{CommandOption, Count, Value, ValueKind};

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
        about: "Driver attributes that may stand under \"attributes\" in the document, by their full names",
        description: "Without it all do. What the document's other fields say (PCI address, MAC, NUMA \
                      node, …) is not touched.",
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
}
