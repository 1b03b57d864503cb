//! The definition of the hook's command line.

use super::{Command, CommandOption, ExitMeaning, Program, Section, options};

/// The whole command line of `dra-cdi-hook`.
pub static PROGRAM: Program = Program {
    name: "dra-cdi-hook",
    version: env!("CARGO_PKG_VERSION"),
    about: "Carries the attributes of DRA devices from a container into its VM",
    description: &[],
    commands: &[
        &CREATE_CONTAINER,
        &SPEC,
        &GENERATE,
        &INSTALL,
        &UNINSTALL,
        &DOCTOR,
    ],
    options: &[],
    hidden: &[],
    exit_codes: &[
        ExitMeaning {
            code: 0,
            meaning: "done",
        },
        ExitMeaning {
            code: 1,
            meaning: "failed, or a problem was found",
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
    files: &[],
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
    operands: None,
    examples: &[],
    run: crate::create_container_of,
};

/// `spec`: what asks for the hook.
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
            options: &[&options::FORM, &options::HOOK_PATH],
        },
        &PASSED_ON,
    ],
    operands: None,
    examples: &[
        (
            "dra-cdi-hook spec > /etc/cdi/dra-guest-vm.json",
            "What install does, by hand",
        ),
        (
            "dra-cdi-hook spec --form oci",
            "The hooks of a base_runtime_spec of containerd: the hook for every container of a RuntimeClass",
        ),
    ],
    run: crate::spec::main,
};

/// `generate`: for drivers that write no metadata.
pub static GENERATE: Command = Command {
    name: "generate",
    about: "Write metadata and a CDI spec for a ResourceClaim, where its driver writes none",
    description: &[
        "Makes of a ResourceClaim and the ResourceSlices of its devices what a driver on upstream's library would \
         have made: metadata files (KEP-5304), and a CDI spec of the device dra-guest/claim=UID, which mounts them \
         in the container and runs the hook there. The device's name is printed; whoever prepares the claim gives \
         it to the kubelet, or a container engine.",
        "Both are written whole or not at all, the metadata first. Only a directory that root alone may write is \
         taken. What stands in a running container stays as it is, as with upstream's files.",
    ],
    sections: &[
        &Section {
            heading: "Options",
            options: &[
                &options::CLAIM,
                &options::SLICES,
                &options::OUT,
                &options::METADATA_OUT,
                &options::PRINT,
                &options::REMOVE,
                &options::HOOK_PATH,
            ],
        },
        &PASSED_ON,
    ],
    operands: None,
    examples: &[
        (
            "dra-cdi-hook generate --claim claim.json --slices slices.json",
            "After kubectl get resourceclaim NAME --output=json > claim.json, and kubectl get resourceslices \
             --field-selector spec.nodeName=NODE --output=json > slices.json",
        ),
        (
            "dra-cdi-hook generate --remove 1f2e3d4c-0000-4000-8000-123456789abc",
            "When the claim is unprepared",
        ),
    ],
    run: crate::generate::main,
};

/// `install`: the hook on a node.
pub static INSTALL: Command = Command {
    name: "install",
    about: "Install this program, its CDI spec and, if asked to, its hooks.d entry on the node",
    description: &[
        "Puts the binary in PREFIX/bin, the CDI spec in the directory of --cdi-dir, and makes the \
         directories. Each file is put in place whole, by rename: a runtime never reads half of one, and a \
         hook that runs goes on. The binary comes first. What is as it should be is left alone, so that it may \
         be run at each boot. A file that is there and was not put there by it is an error, or with --force \
         replaced. An existing file's SELinux label is kept.",
        "What was installed is on record in PREFIX/lib/dra-guest/dra-cdi-hook.json, for uninstall.",
    ],
    sections: &[
        &Section {
            heading: "Options",
            options: &[
                &options::PREFIX,
                &options::CDI_DIR,
                &options::HOOKS_DIR,
                &options::ROOT,
                &options::DRY_RUN,
                &options::FORCE,
                &options::EVERY,
            ],
        },
        &PASSED_ON,
    ],
    operands: None,
    examples: &[
        (
            "dra-cdi-hook install",
            "For containerd, CRI-O, podman and Docker by CDI",
        ),
        (
            "dra-cdi-hook install --hooks-dir /etc/containers/oci/hooks.d",
            "Also for CRI-O and podman by the annotation dra-guest/hook=true",
        ),
        (
            "dra-cdi-hook install --prefix /opt/dra-guest --cdi-dir /var/cdi/static",
            "On a node whose /etc and /usr are read-only, for a runtime that reads this directory",
        ),
    ],
    run: crate::install::main,
};

/// `uninstall`: the reverse of `install`.
pub static UNINSTALL: Command = Command {
    name: "uninstall",
    about: "Remove what install put on the node, and nothing else",
    description: &[
        "Goes by the record in PREFIX/lib/dra-guest/dra-cdi-hook.json: the CDI spec and the hooks.d entry \
         first, then the binary, then directories that install made and that are empty. A file that was changed \
         since stays, and makes the exit code 1, unless --force is given.",
    ],
    sections: &[&Section {
        heading: "Options",
        options: &[
            &options::PREFIX,
            &options::ROOT,
            &options::DRY_RUN,
            &options::FORCE,
        ],
    }],
    operands: None,
    examples: &[],
    run: crate::install::uninstall,
};

/// `doctor`: what is wrong with the node.
pub static DOCTOR: Command = Command {
    name: "doctor",
    about: "Say what on this node would keep the hook from working",
    description: &[
        "Looks at the container runtimes and their configuration, the directories of CDI specs and hooks.d \
         entries, the hook that these name, the DRA drivers' metadata and KubeVirt's pods. It changes nothing. \
         For their versions it runs the runtimes with --version, unless --root names another root directory.",
        "Each problem comes with what to do about it, and makes the exit code 1. What it prints is what a bug \
         report needs.",
    ],
    sections: &[&Section {
        heading: "Options",
        options: &[&options::ROOT, &options::KUBELET, &options::JSON],
    }],
    operands: None,
    examples: &[],
    run: crate::doctor::main,
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

const HOOK_OPTIONS: &[&CommandOption] = &[
    &options::VM_MOUNT,
    &options::VM_MOUNT_SOURCE,
    &options::METADATA_DIR,
    &options::ATTRIBUTES,
    &options::EXPORT,
    &options::ON_ERROR,
    &options::LOG,
];
