//! `dra-guest-relay doctor`: what would keep a relay on this node from working, and what to do about it.
//!
//! It looks at the node ([`vsock`]) and asks the API server: which one it is and who we are ([`api_server`]), for KubeVirt
//! and the node's VMs ([`kubevirt`]), for a dry run of a write ([`claims`]), and for each right ([`rights`]). For a relay that annotates
//! pods it looks at the drivers' files too ([`metadata`]), for one that answers the NRI plugin at its socket ([`attributes_socket`]).

pub mod api_server;
pub mod arguments;
pub mod ask;
pub mod attributes_socket;
pub mod claims;
pub mod kubevirt;
pub mod metadata;
pub mod rights;
pub mod vsock;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use device_attributes::Name;
use kube::Client;

use crate::cluster::connect;
use crate::guest_socket;
use crate::run::Failure;

use arguments::DoctorArguments;
use examination::Examination;

/// Looks at everything, and prints what it saw.
///
/// # Errors
/// The command line does not make sense, or nothing can be printed.
pub async fn run(arguments: DoctorArguments) -> Result<ExitCode, Failure> {
    guest_socket::check(&arguments.guest_sockets).map_err(Failure::Configuration)?;
    let client = connect::client(arguments.kubeconfig.as_deref())
        .await
        .map_err(Failure::Configuration)?;
    let root = Path::new("/");
    let mut examination = Examination::new();
    if arguments.guest_sockets.is_empty() {
        vsock::examine(root, &mut examination);
    } else {
        vsock::examine_sockets(root, &arguments.guest_sockets, &mut examination);
    }
    if let Some(directory) = &arguments.metadata_dir {
        metadata::examine(directory, &mut examination);
    }
    let drivers = arguments.drivers.iter().map(Name::to_string).collect();
    let is_reached = examine_cluster(&client, arguments.node_name, drivers, &mut examination).await;
    if let Some(socket) = &arguments.attributes_socket {
        attributes_socket::examine(socket, &mut examination);
        if is_reached {
            rights::examine_answers(&client, &mut examination).await;
        }
    }
    if arguments.annotate_pods && is_reached {
        rights::examine_annotations(&client, &mut examination).await;
    }

    let text = if arguments.json {
        let json = serde_json::to_string_pretty(&examination).map_err(Failure::other)?;
        format!("{json}\n")
    } else {
        examination.to_string()
    };
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(|error| Failure::Other(format!("standard output cannot be written: {error}")))?;
    Ok(if examination.findings == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Whether the API server answers.
async fn examine_cluster(
    client: &Client,
    node: Option<Name>,
    mut drivers: BTreeSet<String>,
    examination: &mut Examination,
) -> bool {
    let Some(server) = api_server::examine(client, examination).await else {
        return false;
    };
    if let (Some(asked), Some(of_token)) = (&node, &server.node_of_token)
        && asked.as_str() != of_token
    {
        examination.finding(
            "node",
            format!("--node-name is {asked}, and the token is bound to node {of_token}"),
            "run the relay of a node in a pod of that node, with its spec.nodeName as --node-name",
        );
    }
    let node = node.map(|node| node.to_string()).or(server.node_of_token);
    let of_node = kubevirt::examine(client, node.as_deref(), examination).await;
    examination.node = node;
    drivers.extend(claims::examine(client, &of_node.claims, examination).await);
    rights::examine(client, &drivers, server.asks_for_drivers, examination).await;
    true
}
