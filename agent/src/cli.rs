//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::numa::placement::Memory;
use crate::roots::Roots;
use crate::source::Places;

/// Puts the attributes of a VM's devices to use inside the VM.
///
/// Kubernetes Dynamic Resource Allocation knows the devices of this VM: MAC addresses, names,
/// addresses, NUMA nodes. The node brings that in as device-attributes.json; this program finds
/// each device by its MAC or guest PCI address, names and configures it, and reports whether it
/// is ready.
#[derive(Debug, Parser)]
#[command(
    name = "dra-guest-agent",
    version,
    after_help = "Exit codes: 0 done or ready, 1 failed, 2 wrong usage or configuration, \
                  3 some devices failed, 4 no attributes yet.\n\
                  Policy: /etc/dra-guest/agent.toml and /etc/dra-guest/agent.d/*.toml."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,

    /// How much to say on standard error: error, warn, info or debug.
    #[arg(long, global = true, value_name = "LEVEL", default_value = "info")]
    pub log_level: tracing::Level,

    /// Where the system's trees are.
    #[command(flatten)]
    pub roots: RootArguments,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Apply the attributes, and keep watching them: what the service does.
    ///
    /// Waits for attributes that are not there yet, follows their changes, tells systemd and the
    /// node's relay.
    Run(Source),
    /// Apply the attributes once.
    Apply {
        /// Where they come from.
        #[command(flatten)]
        source: Source,
        /// Wait at most this long for attributes that are not there yet.
        #[arg(long, value_name = "SECONDS", default_value_t = 0)]
        wait: u64,
    },
    /// Show what apply would change, and why; change nothing.
    Plan {
        /// Where the attributes come from.
        #[command(flatten)]
        source: Source,
        /// Print the plan as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show what the last run or apply saw of each device.
    Status {
        /// Print the status file as it is.
        #[arg(long)]
        json: bool,
    },
    /// Exit 0 when every device is ready, for probes; one line says why not.
    Check,
    /// Run a command on the CPUs and memory that are near a device.
    ///
    /// The command takes this process' place: its exit code, signals and standard streams are its own.
    /// Its exit code is 126 when it cannot be run and 127 when it is not there. Needs the status that
    /// run or apply has written, and no privilege. With one NUMA node all is near, and nothing is done.
    Exec(Exec),
    /// Print what is known of a device as assignments, for scripts and a unit's environment.
    ///
    /// Beside what the device's file below /run/dra-guest/devices has, the CPUs and the memory nodes near
    /// it as they are now, which podman takes as --cpuset-cpus and --cpuset-mems. With one NUMA node all is
    /// near, and both are absent.
    Env {
        /// The device: claim/request, a request, an interface or a guest PCI address, where it is unique.
        #[arg(long, value_name = "ID")]
        device: String,
    },
    /// Show what this guest has: its network interfaces as the kernel describes them.
    Inspect {
        /// Print it as JSON, in the form of the planner's cases.
        #[arg(long)]
        json: bool,
    },
    /// Take back what run and apply did since the machine came up, and nothing else.
    ///
    /// Names, MAC addresses, MTUs, sysctls, addresses, routes, rules and whether an interface is up
    /// become what they were before. What others have changed since is left, and said. Refused while
    /// the service runs, which would do it all again.
    Revert {
        /// Show what would be taken back; change nothing.
        #[arg(long)]
        dry_run: bool,
    },
    /// Check files: attributes in any known form, or a policy (*.toml).
    Validate {
        /// The files.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
}

impl Command {
    /// Whether it tells nothing on its way: what delays the command of `exec` is left out.
    pub fn is_silent(&self) -> bool {
        matches!(self, Self::Exec(_) | Self::Env { .. })
    }
}

/// Which command runs near which device.
#[derive(Debug, Clone, Args)]
pub struct Exec {
    /// The device: claim/request, a request, an interface or a guest PCI address, where it is unique.
    #[arg(long, value_name = "ID")]
    pub device: String,
    /// Where the command's memory comes from.
    #[arg(long, value_enum, value_name = "MODE", default_value_t)]
    pub memory: Memory,
    /// Fail rather than run the command where it is not near the device.
    #[arg(long)]
    pub strict: bool,
    /// The command and its arguments.
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// Where the attributes come from.
#[derive(Debug, Clone, Args)]
pub struct Source {
    /// Read this file, or this directory of upstream metadata, and nothing else.
    ///
    /// Without it: the credential device-attributes, then /run/kubevirt/device-attributes.json
    /// (the VM mount), then the fw_cfg item opt/org.kubevirt/device-attributes, then the tagged devices of a
    /// config drive.
    #[arg(long, value_name = "PATH")]
    pub attributes: Option<PathBuf>,
}

impl Source {
    /// The places to look at. systemd names the credentials' directory in the environment.
    pub fn places(&self) -> Places {
        Places {
            attributes: self.attributes.clone(),
            credentials: std::env::var_os("CREDENTIALS_DIRECTORY").map(PathBuf::from),
        }
    }
}

/// Other roots for the system's trees.
#[derive(Debug, Clone, Args)]
#[expect(
    clippy::struct_field_names,
    reason = "the names are the options' names"
)]
pub struct RootArguments {
    /// The root of sysfs.
    #[arg(long, global = true, hide = true, default_value = "/sys")]
    sys_root: PathBuf,
    /// The root of procfs.
    #[arg(long, global = true, hide = true, default_value = "/proc")]
    proc_root: PathBuf,
    /// The root of runtime state.
    #[arg(long, global = true, hide = true, default_value = "/run")]
    run_root: PathBuf,
    /// The root of configuration.
    #[arg(long, global = true, hide = true, default_value = "/etc")]
    etc_root: PathBuf,
    /// The root of what the distribution installs.
    #[arg(long, global = true, hide = true, default_value = "/usr")]
    usr_root: PathBuf,
}

impl From<RootArguments> for Roots {
    fn from(arguments: RootArguments) -> Self {
        Self {
            sys: arguments.sys_root,
            proc: arguments.proc_root,
            run: arguments.run_root,
            etc: arguments.etc_root,
            usr: arguments.usr_root,
        }
    }
}
