//! From the command line to the end: starts what the command line asks for, and waits for a signal.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use sd_notify::NotifyState;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tracing::{info, warn};

use crate::annotate::annotator::Settings;
use crate::arguments::Arguments;
use crate::monitoring::readiness::{self, Need};
use crate::monitoring::server::Server;
use crate::{serve_claim_files, serve_node};

/// For the writes that are under way at the end. A pod has 30 s by default until it is killed.
pub const GRACE: Duration = Duration::from_secs(5);

/// Why the relay ends before it is told to.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The command line does not make sense.
    #[error("{0}")]
    Configuration(String),
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

impl Failure {
    /// The exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Configuration(_) => 2,
            Self::Other(_) => 1,
        }
    }

    /// A failure in the words of an error.
    pub fn other(error: impl std::fmt::Display) -> Self {
        Self::Other(error.to_string())
    }
}

/// What is at work, and where it listens.
#[derive(Debug, Default)]
pub struct Work {
    /// Tasks that never end.
    pub tasks: JoinSet<()>,
    /// The places, in words.
    pub listening: Vec<String>,
    /// What a request that writes a claim or an annotation takes one of, so that the end can wait for those that are under way.
    pub permits: Option<Arc<Semaphore>>,
}

/// Runs until SIGTERM or SIGINT.
///
/// # Errors
/// What keeps the relay from running, as a sentence.
pub async fn run(arguments: Arguments) -> Result<(), Failure> {
    let mut terminate = signal_of(SignalKind::terminate())?;
    let mut interrupt = signal_of(SignalKind::interrupt())?;
    // Nobody else may ever connect to a guest's socket: who does is the guest.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o177));

    let server = match arguments.metrics_address {
        Some(address) => Some(Server::bind(address).await.map_err(Failure::other)?),
        None => None,
    };
    let lost_after = Duration::from_secs(arguments.lost_after.into());
    let mut work = match (arguments.claims, arguments.node_name) {
        (Some(directory), None) => {
            serve_claim_files::start(directory, arguments.guests, lost_after).await?
        }
        (None, Some(node)) => {
            let sockets = arguments.guest_sockets;
            let wanted = arguments.annotate_pods || arguments.attributes_socket.is_some();
            let annotate = wanted.then_some(Settings {
                metadata: arguments.metadata_dir,
                annotate: arguments.annotate_pods,
                socket: arguments.attributes_socket,
            });
            let kubeconfig = arguments.kubeconfig.as_deref();
            serve_node::start(node, kubeconfig, sockets, lost_after, annotate).await?
        }
        _ => {
            return Err(Failure::Configuration(
                "one of --claims and --node-name is needed, and not both".to_owned(),
            ));
        }
    };
    if let Some(server) = server {
        let address = server.address;
        work.listening.push(format!(
            "http://{address} for /healthz, /readyz and /metrics"
        ));
        work.tasks.spawn(server.serve());
    }
    readiness::fulfil(Need::Listening);
    announce(&work.listening);

    tokio::select! {
        _ = terminate.recv() => info!("SIGTERM: the relay ends"),
        _ = interrupt.recv() => info!("SIGINT: the relay ends"),
        ended = work.tasks.join_next() => {
            let why = match ended {
                Some(Err(error)) => error.to_string(),
                Some(Ok(())) | None => "it came to its end".to_owned(),
            };
            return Err(Failure::Other(format!("a task of the relay ended by itself: {why}")));
        }
    }
    notify(NotifyState::Stopping);
    work.tasks.shutdown().await;
    if let Some(permits) = work.permits {
        finish_requests(&permits).await;
    }
    Ok(())
}

/// Waits for the requests that are under way, and lets none begin. What they do not write in time, and what waits
/// for another try, the guests report again to the next relay.
async fn finish_requests(permits: &Semaphore) {
    let all = u32::try_from(serve_node::REQUESTS).unwrap_or(u32::MAX);
    if timeout(GRACE, permits.acquire_many(all)).await.is_err() {
        warn!(
            "writes that are under way have not ended in {} s: they are broken off",
            GRACE.as_secs()
        );
    }
    permits.close();
}

fn signal_of(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(|error| Failure::Other(format!("signals cannot be received: {error}")))
}

/// Says that the relay is ready: to whoever reads its output, and to systemd.
fn announce(listening: &[String]) {
    let mut output = std::io::stdout().lock();
    for place in listening {
        if let Err(error) = writeln!(output, "listening on {place}") {
            warn!("standard output cannot be written: {error}");
        }
    }
    let _ = output.flush();
    notify(NotifyState::Ready);
}

fn notify(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        warn!("systemd cannot be notified: {error}");
    }
}
