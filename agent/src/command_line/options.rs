//! The options of the agent's commands, each by itself: the code that reads one names it here.

use ::command_line::{CommandOption, Count, ValueKind};

use crate::numa::placement::Memory;

/// How much is told.
pub static LOG_LEVEL: CommandOption = CommandOption::valued(
    "log-level",
    "LEVEL",
    ValueKind::OneOf(&["error", "warn", "info", "debug", "trace"]),
    "How much to say on standard error",
)
.or("info");

/// Where the attributes come from.
pub static ATTRIBUTES: CommandOption = CommandOption::valued(
    "attributes",
    "PATH",
    ValueKind::File,
    "Read this file, or this directory of upstream metadata, and nothing else",
)
.described(
    "Without it: the credential device-attributes, then /run/kubevirt/device-attributes.json (the VM \
     mount), then the fw_cfg item opt/org.kubevirt/device-attributes, then the tagged devices of a \
     config drive.",
);

/// How long attributes are waited for.
pub static WAIT: CommandOption = CommandOption::valued(
    "wait",
    "SECONDS",
    ValueKind::Number {
        least: 0,
        most: 86_400,
    },
    "Wait at most this long for attributes that are not there yet",
)
.or("0");

/// JSON in the place of lines.
pub static JSON: CommandOption = CommandOption::switch("json", "Print it as JSON");

/// Which device.
pub static DEVICE: CommandOption = CommandOption::valued(
    "device",
    "ID",
    ValueKind::Text,
    "The device: claim/request, a request, an interface or a guest PCI address, where it is unique",
)
.given(Count::Required);

/// Where memory comes from.
pub static MEMORY: CommandOption = CommandOption::valued(
    "memory",
    "MODE",
    ValueKind::OneOf(Memory::NAMES),
    "Where the command's memory comes from",
)
.or(Memory::PREFERRED);

/// Near or not at all.
pub static STRICT: CommandOption = CommandOption::switch(
    "strict",
    "Fail rather than run the command where it is not near the device",
);

/// Nothing is changed.
pub static DRY_RUN: CommandOption =
    CommandOption::switch("dry-run", "Show what would be taken back; change nothing");

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
    CommandOption::directory(name, about).or(default)
}
