//! Starts the work on a Kubernetes node: its guests and their claims come from the API server.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use device_attributes::Name;
use device_attributes::report::PORT;
use tokio::sync::Semaphore;

use crate::annotate::annotator::{Annotator, Settings};
use crate::annotate::answers;
use crate::annotate::heard::Heard;
use crate::cluster::watch::Node;
use crate::cluster::{connect, events, vsock_mode};
use crate::configuration::listen_path;
use crate::guest_socket::{self, GuestSocket};
use crate::listen::{UnixSocket, Vsock};
use crate::monitoring::readiness;
use crate::roster::Roster;
use crate::run::{Failure, Work};

/// The most requests for claims and annotations that are under way at once: an API server that is slow has others to
/// serve.
pub const REQUESTS: usize = 8;

/// Starts it. The API server may be away still.
///
/// # Errors
/// What keeps the relay from running, as a sentence.
pub async fn start(
    node: Name,
    kubeconfig: Option<&Path>,
    sockets: Vec<GuestSocket>,
    lost_after: Duration,
    annotate: Option<Settings>,
) -> Result<Work, Failure> {
    guest_socket::check(&sockets).map_err(Failure::Configuration)?;
    let client = connect::client(kubeconfig)
        .await
        .map_err(Failure::Configuration)?;
    readiness::expect_a_node();
    let permits = Arc::new(Semaphore::new(REQUESTS));
    let mut work = Work {
        permits: Some(Arc::clone(&permits)),
        ..Work::default()
    };
    let (events, sender) = events::channel(client.clone(), &node);
    work.tasks.spawn(sender.serve());
    let roster = Arc::new(Roster::new());
    if sockets.is_empty() {
        vsock_mode::check(Path::new("/proc/sys")).map_err(Failure::Other)?;
        let vsock = Vsock::bind().map_err(Failure::other)?;
        work.listening
            .push(format!("vsock port {PORT} for the VMs of node {node}"));
        work.tasks.spawn(vsock.serve(Arc::clone(&roster)));
    }
    for GuestSocket { cid, socket } in sockets {
        let path = listen_path(&socket);
        let socket = UnixSocket::bind(&path).map_err(Failure::other)?;
        work.listening
            .push(format!("{} for CID {cid}", path.display()));
        work.tasks.spawn(socket.serve(cid, Arc::clone(&roster)));
    }
    let annotations = annotate.map(|settings| {
        let heard = Arc::new(Heard::default());
        if let Some(path) = settings.socket.clone() {
            work.tasks.spawn(answers::serve(path, Arc::clone(&heard)));
        }
        let annotator = Annotator::start(
            client.clone(),
            &node,
            Arc::clone(&heard),
            settings,
            Arc::clone(&permits),
        );
        work.tasks.spawn(annotator.run());
        heard
    });
    let node = Node {
        client,
        name: node,
        roster,
        lost_after,
        annotations,
        permits,
        events,
    };
    work.tasks.spawn(node.watch());
    Ok(work)
}
