//! The command line of `doctor`.

#![expect(
    clippy::doc_markdown,
    reason = "the comments are the help text, which shows backticks as they are"
)]

use std::path::PathBuf;

use clap::Args;
use device_attributes::Name;

use crate::guest_socket::GuestSocket;

/// What doctor is asked.
#[derive(Debug, Args)]
#[command(
    long_about = "\
Look for what would keep a relay on this node from working, and say what to do

Doctor asks the API server who it is and what it may do there, and the node for its vsock. It writes nothing: the one write
that it tries is a dry run. Run it where the relay runs, as who the relay is:
  kubectl -n dra-guest exec POD -- /dra-guest-relay doctor",
    after_help = "Exit codes: 0 no findings, 1 findings, 2 wrong usage or configuration."
)]
pub struct DoctorArguments {
    /// The node; by default the one that the API server knows by the token
    #[arg(long, value_name = "NAME")]
    pub node_name: Option<Name>,

    /// Reach the API server as this file says, with its current context; by default as the pod that this is
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// A DRA driver whose claims the relay has to write, once for each; those of the node's claims are found
    #[arg(long = "driver", value_name = "NAME")]
    pub drivers: Vec<Name>,

    /// As for the relay: where a guest connects whose vsock is not the kernel's; AF_VSOCK is not looked at then
    #[arg(long = "guest-socket", value_name = "SOCKET")]
    pub guest_sockets: Vec<GuestSocket>,

    /// As for the relay: look at what annotating pods takes, too
    #[arg(long)]
    pub annotate_pods: bool,

    /// As for the relay: the kubelet's directory of plugins, and whether the drivers' metadata below can be read
    #[arg(long, value_name = "DIR", requires = "annotate_pods")]
    pub metadata_dir: Option<PathBuf>,

    /// As for the relay: look at what answering dra-guest-nri takes, and whether a relay listens there
    #[arg(long, value_name = "PATH")]
    pub attributes_socket: Option<PathBuf>,

    /// Print JSON: {version, node, findings, checks: [{name, verdict, message, advice}]}
    #[arg(long)]
    pub json: bool,
}
