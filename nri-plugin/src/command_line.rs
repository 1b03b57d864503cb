//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use device_attributes::Name;
use tracing::level_filters::LevelFilter;

use crate::selection::Label;

/// Asks for the hook that writes a VM's device attributes, where a driver does not
///
/// A plugin of the container runtime, by its Node Resource Interface (NRI): containerd 2.x or CRI-O. Each
/// virt-launcher container with a VM mount and metadata of DRA devices gets the createContainer hook
/// dra-cdi-hook; while it runs, its document follows what the drivers write. Other containers stay as they are.
///
/// The runtime's socket is as good as root on the node: so is this program.
#[derive(Debug, Clone, Parser)]
#[command(
    name = "dra-guest-nri",
    version,
    subcommand_help_heading = "Instead of running",
    subcommand_value_name = "COMMAND",
    disable_help_subcommand = true,
    after_help = "Exit codes: 0 ended by SIGTERM or SIGINT, 1 failed, 2 wrong usage."
)]
pub struct Arguments {
    /// The runtime's socket for plugins
    #[arg(
        long,
        global = true,
        value_name = "PATH",
        default_value = "/var/run/nri/nri.sock"
    )]
    pub socket: PathBuf,

    /// Two digits: when this plugin is asked, among all plugins, in rising order
    ///
    /// Late, so that it sees what others have added.
    #[arg(long, value_name = "NN", default_value = "90", value_parser = two_digits)]
    pub index: String,

    /// Where the hook is installed on the node
    #[arg(long, global = true, value_name = "FILE", default_value = "/usr/local/bin/dra-cdi-hook", value_parser = absolute)]
    pub hook: String,

    /// Put this program at the place of --hook first: the hook, in an image that has both
    #[arg(long, value_name = "FILE")]
    pub install_hook: Option<PathBuf>,

    /// For the hook: directory of the container to write into, a volume that the VM sees
    #[arg(long, value_name = "DIR", default_value = "/var/run/device-attributes", value_parser = absolute)]
    pub vm_mount: String,

    /// For the hook: driver attributes that may stand in the document; without it all do
    #[arg(long, value_name = "KEY", num_args = 1..)]
    pub export: Vec<String>,

    /// For the hook: whether a container starts although its metadata is broken
    #[arg(long, value_name = "POLICY", value_enum, default_value = "fail")]
    pub on_error: OnError,

    /// For the hook: file of the node that its messages are appended to
    #[arg(long, value_name = "FILE", value_parser = absolute)]
    pub hook_log: Option<String>,

    /// The label of the pods that are looked at
    #[arg(
        long,
        value_name = "KEY=VALUE",
        default_value = "kubevirt.io=virt-launcher"
    )]
    pub pod_label: Label,

    /// The container of such a pod that is looked at
    #[arg(long, value_name = "NAME", default_value = "compute")]
    pub container: Name,

    /// The kubelet's directory, at the same path as for the runtime
    ///
    /// Documents are kept up to date in volumes below its pods/, from metadata below its plugins/.
    #[arg(long, global = true, value_name = "DIR", default_value = "/var/lib/kubelet", value_parser = absolute_path)]
    pub kubelet: PathBuf,

    /// Ask the relay for the devices whose driver writes no metadata, at its socket for this
    ///
    /// dra-guest-relay listens there with --attributes-socket.
    #[arg(long, global = true, value_name = "PATH")]
    pub attributes_socket: Option<PathBuf>,

    /// The user that the relay runs as: its socket's directory is made for it, where it is not there yet
    #[arg(long, value_name = "UID", requires = "attributes_socket", value_parser = user)]
    pub attributes_user: Option<u32>,

    /// How long a container may wait for the relay's answer, 1500ms at most; then it starts without
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = patience)]
    pub attributes_timeout: Duration,

    /// Directory for the relay's answers, where the hook finds them: at the same path on the node
    #[arg(long, global = true, value_name = "DIR", default_value = "/run/dra-guest/nri", value_parser = absolute)]
    pub state: String,

    /// What to log to standard error: off, error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub log_level: LevelFilter,

    /// What to do instead.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What to do instead of running.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Look for what would keep the plugin on this node from its work, and say what to do
    ///
    /// Give it --socket, --hook, --kubelet, --state and --attributes-socket as the plugin has them. It changes nothing.
    /// In the plugin's pod:
    ///   kubectl -n dra-guest exec POD -- /dra-guest-nri doctor --hook=/opt/dra-guest/bin/dra-cdi-hook
    #[command(
        verbatim_doc_comment,
        after_help = "Exit codes: 0 no findings, 1 findings, 2 wrong usage."
    )]
    Doctor(DoctorArguments),
}

/// What doctor is asked.
#[derive(Debug, Clone, Args)]
pub struct DoctorArguments {
    /// containerd's configuration
    #[arg(
        long,
        value_name = "FILE",
        default_value = "/etc/containerd/config.toml"
    )]
    pub containerd_config: PathBuf,

    /// Print JSON: {version, findings, checks: [{name, verdict, message, advice}]}
    #[arg(long)]
    pub json: bool,
}

/// What broken metadata means for the container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OnError {
    /// It does not start.
    Fail,
    /// It starts with what is left, or without a document.
    Skip,
}

fn two_digits(text: &str) -> Result<String, &'static str> {
    if text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        Ok(text.to_owned())
    } else {
        Err("the index of an NRI plugin is two digits, from 00 to 99")
    }
}

fn absolute(text: &str) -> Result<String, &'static str> {
    if !text.starts_with('/') {
        return Err("the path must be absolute, from / on: it is one of the node or the container");
    }
    if text.chars().any(char::is_control) {
        return Err("the path has a control character");
    }
    Ok(text.to_owned())
}

fn absolute_path(text: &str) -> Result<PathBuf, &'static str> {
    absolute(text).map(PathBuf::from)
}

fn user(text: &str) -> Result<u32, &'static str> {
    text.parse()
        .map_err(|_| "the number of a user is expected, like 65532")
}

/// A runtime waits for two seconds, and closes the connection then.
const LONGEST_PATIENCE: Duration = Duration::from_millis(1500);

fn patience(text: &str) -> Result<Duration, String> {
    let patience = humantime::parse_duration(text)
        .map_err(|_| "a number with its unit is expected, like 500ms")?;
    if patience.is_zero() || patience > LONGEST_PATIENCE {
        return Err(format!(
            "it must be between 1ms and {}: the runtime itself waits for a plugin for 2s",
            humantime::format_duration(LONGEST_PATIENCE)
        ));
    }
    Ok(patience)
}
