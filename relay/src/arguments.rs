//! The command line.

#![expect(
    clippy::doc_markdown,
    reason = "the comments are the help text, which shows backticks as they are"
)]

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{ArgGroup, Parser, Subcommand};
use device_attributes::Name;
use tracing::level_filters::LevelFilter;

use crate::configuration::Guest;
use crate::doctor::arguments::DoctorArguments;
use crate::guest_socket::GuestSocket;
use crate::log::LogFormat;

/// Puts on ResourceClaims what guests report of their devices
///
/// The agent in each guest reports over vsock whether the devices that were allocated to its VM can be used
/// there. The relay sets the condition dra-guest/Ready of these devices in the status of their
/// ResourceClaims: True with what was observed, False with the reason, or Unknown (AgentLost) when nothing is
/// heard of the guest. Everything else in a claim stays as it is.
///
/// A guest is known by its vsock CID and can speak of its own claims only, whatever it says.
///
/// With --claims the claims are files in a directory. With --node-name they are objects of a Kubernetes API
/// server, and the guests are the VMs of KubeVirt on that node.
#[derive(Debug, Parser)]
#[command(
    name = "dra-guest-relay",
    version,
    subcommand_negates_reqs = true,
    args_conflicts_with_subcommands = true,
    group = ArgGroup::new("mode").args(["claims", "node_name"]).required(true),
    after_help = "Exit codes: 0 ended by SIGTERM or SIGINT, 1 failed, 2 wrong usage or configuration.",
    after_long_help = "\
Examples:
  A QEMU guest with CID 5, whose vsock is served by vhost-device-vsock on this host:
    vhost-device-vsock --vm guest-cid=5,socket=/run/vm5.vhost,uds-path=/run/vm5.vsock
    dra-guest-relay --claims ./claims --guest cid=5,socket=/run/vm5.vsock,claim=default/vm-nic

  A guest whose vsock is served by the kernel (vhost_vsock), with two claims:
    dra-guest-relay --claims ./claims --guest cid=7,claim=default/nic,claim=default/gpu

  The VMs of a Kubernetes node, in a pod of a DaemonSet whose spec.nodeName is in $NODE_NAME:
    dra-guest-relay --node-name $NODE_NAME

Files in the directory are read anew for each report, so they may be added, changed and removed at any time. They are
replaced whole, only when something changed; key order, mode and owner stay, comments in YAML do not.

Exit codes: 0 ended by SIGTERM or SIGINT, 1 failed, 2 wrong usage or configuration."
)]
pub struct Arguments {
    /// Without one, the relay runs
    #[command(subcommand)]
    pub command: Option<Command>,

    /// Directory of ResourceClaim files (*.yaml, *.yml, *.json) to read and to write
    ///
    /// Each file holds objects of resource.k8s.io/v1; other kinds are passed over. Subdirectories and
    /// hidden files are not looked at.
    #[arg(long, value_name = "DIR", requires = "guests")]
    pub claims: Option<PathBuf>,

    /// A guest, and the claims that it may speak of: cid=CID[,socket=PATH],claim=NAMESPACE/NAME[,claim=…]
    ///
    /// With socket=PATH the guest's vsock is served by a vhost-device-vsock with uds-path=PATH: the relay
    /// listens on the UNIX socket PATH_10739 (mode 0600), and whoever connects there is this guest. Without it the
    /// guest is expected on AF_VSOCK port 10739, with this CID. Give the option once for each guest.
    #[arg(
        long = "guest",
        value_name = "GUEST",
        requires = "claims",
        conflicts_with = "node_name"
    )]
    pub guests: Vec<Guest>,

    /// Serve the VMs of KubeVirt on this Kubernetes node; their claims are those of the API server
    ///
    /// The relay watches the node's virt-launcher pods and VirtualMachineInstances, and knows a guest by
    /// its status.VSOCKCID. It reaches the API server with the service account of its own pod.
    #[arg(long, value_name = "NAME")]
    pub node_name: Option<Name>,

    /// With --node-name: reach the API server as this file says, with its current context
    #[arg(
        long,
        value_name = "FILE",
        requires = "node_name",
        conflicts_with = "claims"
    )]
    pub kubeconfig: Option<PathBuf>,

    /// With --node-name: where the guest with this CID connects: cid=CID,socket=PATH
    ///
    /// For a node whose guests' vsock is served by vhost-device-vsock with uds-path=PATH instead of the
    /// kernel: the relay listens on PATH_10739 (mode 0600), and then not on AF_VSOCK. Which VM has the CID, and so
    /// which claims, still comes from the API server. Give the option once for each guest.
    #[arg(
        long = "guest-socket",
        value_name = "SOCKET",
        requires = "node_name",
        conflicts_with = "claims"
    )]
    pub guest_sockets: Vec<GuestSocket>,

    /// With --node-name: also write the document to the annotation dra-guest/device-attributes of each VM's pod
    ///
    /// A downwardAPI volume of the VM carries it into the guest. The relay needs further rights then: to list and
    /// watch resourceclaims and resourceslices, and to patch pods, which an admission policy should hold to this annotation
    /// (deploy/annotation).
    #[arg(long, requires = "node_name", conflicts_with = "claims")]
    pub annotate_pods: bool,

    /// With --node-name: give the documents of VMs' pods to dra-guest-nri, on this UNIX socket
    ///
    /// Who is not root there gets no answer. The relay needs the rights to list and watch resourceclaims and
    /// resourceslices then (deploy/nri). Where its directory is not there yet it is waited for.
    #[arg(
        long,
        value_name = "PATH",
        requires = "node_name",
        conflicts_with = "claims"
    )]
    pub attributes_socket: Option<PathBuf>,

    /// With --annotate-pods: the kubelet's directory of plugins, /var/lib/kubelet/plugins, with the drivers' metadata
    ///
    /// What drivers write there (KEP-5304) is what the document says. Devices without metadata, and all without this
    /// option, have what their claim and the node's ResourceSlices say.
    #[arg(long, value_name = "DIR", requires = "annotate_pods")]
    pub metadata_dir: Option<PathBuf>,

    /// Seconds of silence after which a guest's devices become Unknown, with reason AgentLost
    ///
    /// An agent says something every 10 seconds.
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub lost_after: u32,

    /// What to log to standard error: off, error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub log_level: LevelFilter,

    /// How a line of the log is written
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "text")]
    pub log_format: LogFormat,

    /// Answer HTTP on this address: /healthz, /readyz and /metrics (Prometheus); off by default
    ///
    /// For example 127.0.0.1:10740, or 0.0.0.0:10740 in a pod that is scraped. Whoever reaches it can read it; it
    /// shows numbers, and no name of a VM or claim. Port 0 is one that the kernel chooses, and standard output says which.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    pub metrics_address: Option<SocketAddr>,
}

/// What to do instead of running the relay.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Look for what would keep a relay on this node from working, and say what to do
    Doctor(DoctorArguments),
}

fn address(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse()
        .map_err(|_| "an IP address and a port are expected, like 127.0.0.1:10740 or [::]:10740")
}
