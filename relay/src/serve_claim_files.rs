//! Starts the work on a directory of claims, with the guests that the command line names.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use device_attributes::report::PORT;
use tracing::warn;

use crate::claim_files::ClaimFiles;
use crate::configuration::{self, Guest};
use crate::guest::{self, Connections};
use crate::listen::{UnixSocket, Vsock};
use crate::replace;
use crate::roster::Roster;
use crate::run::{Failure, Work};

/// Starts it.
///
/// # Errors
/// What keeps the relay from running, as a sentence.
pub async fn start(
    directory: PathBuf,
    guests: Vec<Guest>,
    lost_after: Duration,
) -> Result<Work, Failure> {
    configuration::check(&guests).map_err(Failure::Configuration)?;
    if !directory.is_dir() {
        return Err(Failure::Configuration(format!(
            "--claims {}: this is not a directory: name the one that holds the ResourceClaim files",
            directory.display()
        )));
    }
    let store = survey(&directory, &guests).await?;
    let mut work = Work::default();
    // A guest with a socket is not listened to on vsock.
    let (on_sockets, on_vsock) = (Arc::new(Roster::new()), Arc::new(Roster::new()));
    let mut vsock_cids = Vec::new();
    for guest in guests {
        let cid = guest.cid;
        let connections = Arc::new(Connections::new());
        if let Some(path) = guest.listen_path() {
            let socket = UnixSocket::bind(&path).map_err(Failure::other)?;
            work.listening
                .push(format!("{} for CID {cid}", path.display()));
            on_sockets.admit(cid, Arc::clone(&connections));
            work.tasks.spawn(socket.serve(cid, Arc::clone(&on_sockets)));
        } else {
            vsock_cids.push(cid);
            on_vsock.admit(cid, Arc::clone(&connections));
        }
        let store = Arc::clone(&store);
        work.tasks
            .spawn(guest::serve(guest, connections, store, lost_after));
    }
    if !vsock_cids.is_empty() {
        let vsock = Vsock::bind().map_err(Failure::other)?;
        vsock_cids.sort_unstable();
        let cids: Vec<String> = vsock_cids.iter().map(ToString::to_string).collect();
        work.listening
            .push(format!("vsock port {PORT} for CID {}", cids.join(", ")));
        work.tasks.spawn(vsock.serve(on_vsock));
    }
    Ok(work)
}

/// Opens the store, and says what is in it and what is missing.
async fn survey(directory: &Path, guests: &[Guest]) -> Result<Arc<ClaimFiles>, Failure> {
    for path in replace::remove_unfinished(directory)
        .map_err(|error| Failure::Other(format!("{}: {error}", directory.display())))?
    {
        warn!(
            "{}: removed, an earlier relay has not finished it",
            path.display()
        );
    }
    let store = ClaimFiles::new(directory.to_owned());
    let (claims, problems) = store.survey().await.map_err(Failure::other)?;
    for problem in problems {
        warn!("{problem}");
    }
    for guest in guests {
        for claim in guest.claims.iter().filter(|claim| !claims.contains(claim)) {
            warn!(
                cid = guest.cid,
                %claim,
                "no file in {} holds this claim yet",
                directory.display()
            );
        }
    }
    Ok(Arc::new(store))
}
