//! The options of the agent's commands, each by itself: the code that reads one names it here.

use ::command_line::{CommandOption, Count, Value, ValueKind};

use crate::numa::placement::Memory;

/// How much is told.
pub static LOG_LEVEL: CommandOption = CommandOption {
    name: "log-level",
    value: Some(Value {
        name: "LEVEL",
        kind: ValueKind::OneOf(&["error", "warn", "info", "debug", "trace"]),
        count: Count::Once,
        default: Some("info"),
    }),
    about: "How much to say on standard error",
    description: "",
};

/// Where the attributes come from.
pub static ATTRIBUTES: CommandOption = CommandOption {
    name: "attributes",
    value: Some(Value {
        name: "PATH",
        kind: ValueKind::File,
        count: Count::Once,
        default: None,
    }),
    about: "Read this file, or this directory of upstream metadata, and nothing else",
    description: "Without it: the credential device-attributes, then /run/kubevirt/device-attributes.json (the VM \
                  mount), then the fw_cfg item opt/org.kubevirt/device-attributes, then the tagged devices of a \
                  config drive.",
};

/// How long attributes are waited for.
pub static WAIT: CommandOption = CommandOption {
    name: "wait",
    value: Some(Value {
        name: "SECONDS",
        kind: ValueKind::Text,
        count: Count::Once,
        default: Some("0"),
    }),
    about: "Wait at most this long for attributes that are not there yet",
    description: "",
};

/// JSON in the place of lines.
pub static JSON: CommandOption = CommandOption {
    name: "json",
    value: None,
    about: "Print it as JSON",
    description: "",
};

/// Which device.
pub static DEVICE: CommandOption = CommandOption {
    name: "device",
    value: Some(Value {
        name: "ID",
        kind: ValueKind::Text,
        count: Count::Required,
        default: None,
    }),
    about: "The device: claim/request, a request, an interface or a guest PCI address, where it is unique",
    description: "",
};

/// Where memory comes from.
pub static MEMORY: CommandOption = CommandOption {
    name: "memory",
    value: Some(Value {
        name: "MODE",
        kind: ValueKind::OneOf(Memory::NAMES),
        count: Count::Once,
        default: Some(Memory::PREFERRED),
    }),
    about: "Where the command's memory comes from",
    description: "",
};

/// Near or not at all.
pub static STRICT: CommandOption = CommandOption {
    name: "strict",
    value: None,
    about: "Fail rather than run the command where it is not near the device",
    description: "",
};

/// Nothing is changed.
pub static DRY_RUN: CommandOption = CommandOption {
    name: "dry-run",
    value: None,
    about: "Show what would be taken back; change nothing",
    description: "",
};

/// The root of sysfs.
pub static SYS_ROOT: CommandOption = root("sys-root", "/sys", "The root of sysfs");
/// The root of procfs.
pub static PROC_ROOT: CommandOption = root("proc-root", "/proc", "The root of procfs");
/// The root of runtime state.
pub static RUN_ROOT: CommandOption = root("run-root", "/run", "The root of runtime state");
/// The root of configuration.
pub static ETC_ROOT: CommandOption = root("etc-root", "/etc", "The root of configuration");
/// The root of what the distribution installs.
pub static USR_ROOT: CommandOption = root(
    "usr-root",
    "/usr",
    "The root of what the distribution installs",
);

const fn root(name: &'static str, default: &'static str, about: &'static str) -> CommandOption {
    CommandOption {
        name,
        value: Some(Value {
            name: "DIR",
            kind: ValueKind::Directory,
            count: Count::Once,
            default: Some(default),
        }),
        about,
        description: "",
    }
}
