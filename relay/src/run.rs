//! From the command line to the end: sets up the listeners and the guests' tasks, and waits for a signal.

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use device_attributes::report::PORT;
use sd_notify::NotifyState;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinSet;
use tracing::{info, warn};

use crate::arguments::Arguments;
use crate::claim_files::ClaimFiles;
use crate::configuration;
use crate::guest::{self, Connections};
use crate::listen::{UnixSocket, Vsock};
use crate::replace;

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

    fn other(error: impl std::fmt::Display) -> Self {
        Self::Other(error.to_string())
    }
}

/// Runs until SIGTERM or SIGINT.
///
/// # Errors
/// What keeps the relay from running, as a sentence.
pub async fn run(arguments: Arguments) -> Result<(), Failure> {
    configuration::check(&arguments.guests).map_err(Failure::Configuration)?;
    if !arguments.claims.is_dir() {
        return Err(Failure::Configuration(format!(
            "--claims {}: this is not a directory: name the one that holds the ResourceClaim files",
            arguments.claims.display()
        )));
    }
    let mut terminate = signal_of(SignalKind::terminate())?;
    let mut interrupt = signal_of(SignalKind::interrupt())?;
    // Nobody else may ever connect to a guest's socket: who does is the guest.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o177));

    let store = survey(&arguments).await?;
    let lost_after = Duration::from_secs(arguments.lost_after.into());
    let mut tasks = JoinSet::new();
    let mut on_vsock = HashMap::new();
    let mut listening = Vec::new();
    for guest in arguments.guests {
        let connections = Arc::new(Connections::new());
        if let Some(path) = guest.listen_path() {
            let socket = UnixSocket::bind(&path).map_err(Failure::other)?;
            listening.push(format!("{} for CID {}", path.display(), guest.cid));
            tasks.spawn(socket.serve(Arc::clone(&connections)));
        } else {
            on_vsock.insert(guest.cid, Arc::clone(&connections));
        }
        tasks.spawn(guest::serve(
            guest,
            connections,
            Arc::clone(&store),
            lost_after,
        ));
    }
    if !on_vsock.is_empty() {
        let vsock = Vsock::bind().map_err(Failure::other)?;
        let mut cids: Vec<u32> = on_vsock.keys().copied().collect();
        cids.sort_unstable();
        let cids: Vec<String> = cids.iter().map(ToString::to_string).collect();
        listening.push(format!("vsock port {PORT} for CID {}", cids.join(", ")));
        tasks.spawn(vsock.serve(on_vsock));
    }
    announce(&listening);

    tokio::select! {
        _ = terminate.recv() => info!("SIGTERM: the relay ends"),
        _ = interrupt.recv() => info!("SIGINT: the relay ends"),
        ended = tasks.join_next() => {
            let why = match ended {
                Some(Err(error)) => error.to_string(),
                Some(Ok(())) | None => "it came to its end".to_owned(),
            };
            return Err(Failure::Other(format!("a task of the relay ended by itself: {why}")));
        }
    }
    notify(NotifyState::Stopping);
    // A write that is under way is finished when the runtime ends.
    tasks.shutdown().await;
    Ok(())
}

fn signal_of(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(|error| Failure::Other(format!("signals cannot be received: {error}")))
}

/// Opens the store, and says what is in it and what is missing.
async fn survey(arguments: &Arguments) -> Result<Arc<ClaimFiles>, Failure> {
    for path in replace::remove_unfinished(&arguments.claims)
        .map_err(|error| Failure::Other(format!("{}: {error}", arguments.claims.display())))?
    {
        warn!(
            "{}: removed, an earlier relay has not finished it",
            path.display()
        );
    }
    let store = ClaimFiles::new(arguments.claims.clone());
    let (claims, problems) = store.survey().await.map_err(Failure::other)?;
    for problem in problems {
        warn!("{problem}");
    }
    for guest in &arguments.guests {
        for claim in guest.claims.iter().filter(|claim| !claims.contains(claim)) {
            warn!(
                cid = guest.cid,
                %claim,
                "no file in {} holds this claim yet",
                arguments.claims.display()
            );
        }
    }
    Ok(Arc::new(store))
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
