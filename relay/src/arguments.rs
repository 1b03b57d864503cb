//! The command line.

#![expect(
    clippy::doc_markdown,
    reason = "the comments are the help text, which shows backticks as they are"
)]

use std::path::PathBuf;

use clap::Parser;
use tracing::level_filters::LevelFilter;

use crate::configuration::Guest;

/// Puts on ResourceClaims what guests report of their devices
///
/// The agent in each guest reports over vsock whether the devices that were allocated to its VM can be used
/// there. The relay sets the condition dra-guest/Ready of these devices in the status of their
/// ResourceClaims: True with what was observed, False with the reason, or Unknown (AgentLost) when nothing is
/// heard of the guest. Everything else in a claim stays as it is.
///
/// A guest is known by its vsock CID and can speak of its own claims only, whatever it says.
#[derive(Debug, Parser)]
#[command(
    name = "dra-guest-relay",
    version,
    after_help = "Exit codes: 0 ended by SIGTERM or SIGINT, 1 failed, 2 wrong usage or configuration.",
    after_long_help = "\
Examples:
  A QEMU guest with CID 5, whose vsock is served by vhost-device-vsock on this host:
    vhost-device-vsock --vm guest-cid=5,socket=/run/vm5.vhost,uds-path=/run/vm5.vsock
    dra-guest-relay --claims ./claims --guest cid=5,socket=/run/vm5.vsock,claim=default/vm-nic

  A guest whose vsock is served by the kernel (vhost_vsock), with two claims:
    dra-guest-relay --claims ./claims --guest cid=7,claim=default/nic,claim=default/gpu

Files in the directory are read anew for each report, so they may be added, changed and removed at any time. They are
replaced whole, only when something changed; key order, mode and owner stay, comments in YAML do not.

Exit codes: 0 ended by SIGTERM or SIGINT, 1 failed, 2 wrong usage or configuration."
)]
pub struct Arguments {
    /// Directory of ResourceClaim files (*.yaml, *.yml, *.json) to read and to write
    ///
    /// Each file holds objects of resource.k8s.io/v1; other kinds are passed over. Subdirectories and
    /// hidden files are not looked at.
    #[arg(long, value_name = "DIR")]
    pub claims: PathBuf,

    /// A guest, and the claims that it may speak of: cid=CID[,socket=PATH],claim=NAMESPACE/NAME[,claim=…]
    ///
    /// With socket=PATH the guest's vsock is served by a vhost-device-vsock with uds-path=PATH: the relay
    /// listens on the UNIX socket PATH_10739 (mode 0600), and whoever connects there is this guest. Without it the
    /// guest is expected on AF_VSOCK port 10739, with this CID. Give the option once for each guest.
    #[arg(long = "guest", value_name = "GUEST", required = true)]
    pub guests: Vec<Guest>,

    /// Seconds of silence after which a guest's devices become Unknown, with reason AgentLost
    ///
    /// An agent says something every 10 seconds.
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub lost_after: u32,

    /// What to log to standard error: off, error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub log_level: LevelFilter,
}
