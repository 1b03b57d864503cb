//! Keeps the node's relay up to date, over vsock to CID 2.
//!
//! The connection is kept by a task of its own: a relay that is away, slow or old never holds up
//! the configuration of a device.

use std::io;
use std::path::Path;
use std::time::Duration;

use device_attributes::report::{DeviceReport, HEARTBEAT_SECONDS, PORT};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tokio_vsock::{VMADDR_CID_HOST, VsockAddr, VsockStream};

use super::conversation::converse;
use crate::small_file;

/// The first wait before a connection is tried again; it doubles up to [`RETRY_MOST`].
const RETRY_FIRST: Duration = Duration::from_secs(1);
const RETRY_MOST: Duration = Duration::from_secs(30);
/// The longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// After a connection that held for so long the next is tried soon.
const HELD: Duration = Duration::from_secs(2 * HEARTBEAT_SECONDS);

/// What is to be reported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Account {
    /// The digest of the document, while there is one.
    pub document_digest: Option<String>,
    /// Every device, as observed.
    pub devices: Vec<DeviceReport>,
}

/// Keeps the relay up to date until the sender of `account` is dropped.
///
/// `connect` makes a connection: [`vsock`], but in tests. `boot_id` is what [`boot_id`] reads.
pub async fn keep_reporting<S, F>(
    connect: impl Fn() -> F,
    boot_id: &str,
    mut account: watch::Receiver<Account>,
) where
    S: AsyncRead + AsyncWrite,
    F: Future<Output = io::Result<S>>,
{
    let mut retry = RETRY_FIRST;
    let mut said: Option<String> = None;
    loop {
        let started = Instant::now();
        let trouble = match timeout(CONNECT, connect()).await {
            Ok(Ok(stream)) => match converse(stream, boot_id, &mut account).await {
                // The agent ends, or the document is another: a new account begins.
                Ok(()) if account.has_changed().is_err() => return,
                Ok(()) => {
                    retry = RETRY_FIRST;
                    continue;
                }
                Err(error) => format!("the connection to the node's relay broke: {error}"),
            },
            Ok(Err(error)) => format!("the node's relay cannot be reached: {error}"),
            Err(_) => "the node's relay cannot be reached: no answer".to_owned(),
        };
        if started.elapsed() >= HELD {
            retry = RETRY_FIRST;
            said = None;
        }
        if said.as_ref() != Some(&trouble) {
            tracing::info!("{trouble}; trying on");
            said = Some(trouble);
        }
        tokio::select! {
            () = sleep(retry) => {}
            () = closed(&account) => return,
        }
        retry = (retry * 2).min(RETRY_MOST);
    }
}

/// Waits until nobody can change the account any more.
async fn closed(account: &watch::Receiver<Account>) {
    let mut account = account.clone();
    while account.changed().await.is_ok() {}
}

/// Connects to the relay of the node that this guest runs on.
///
/// # Errors
/// The guest has no vsock, or nobody listens.
pub async fn vsock() -> io::Result<VsockStream> {
    VsockStream::connect(VsockAddr::new(VMADDR_CID_HOST, PORT)).await
}

/// What tells this boot of the guest from the one before; empty when the kernel does not say.
pub fn boot_id(proc: &Path) -> String {
    let id = small_file::read(&proc.join("sys/kernel/random/boot_id"));
    let id = id.ok().and_then(|id| String::from_utf8(id).ok());
    id.map(|id| id.trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use tokio::io::DuplexStream;

    /// The seconds at which connections are tried in `span` of time, by what comes of one.
    async fn tries(
        span: Duration,
        connect: impl Fn() -> io::Result<DuplexStream> + Send + Sync + 'static,
    ) -> Vec<u64> {
        let start = Instant::now();
        let tried = Mutex::new(Vec::new());
        let (account, reported) = watch::channel(Account::default());
        let reporting = keep_reporting(
            || {
                tried.lock().unwrap().push(start.elapsed().as_secs());
                std::future::ready(connect())
            },
            "boot",
            reported,
        );
        tokio::select! {
            () = reporting => panic!("it gave up"),
            () = sleep(span) => {}
        }
        drop(account);
        tried.into_inner().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_relay_that_is_away_is_tried_ever_more_rarely() {
        let away = || Err(io::Error::from(io::ErrorKind::ConnectionRefused));
        let tries = tries(Duration::from_secs(130), away).await;
        assert_eq!(tries, [0, 1, 3, 7, 15, 31, 61, 91, 121]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_relay_that_always_closes_is_no_reason_to_hurry() {
        let closes = || Ok(tokio::io::duplex(64).0);
        let tries = tries(Duration::from_mins(1), closes).await;
        assert_eq!(tries, [0, 1, 3, 7, 15, 31]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_the_agent_ends_the_waiting() {
        let (account, reported) = watch::channel(Account::default());
        let away = || std::future::ready(Err::<DuplexStream, _>(io::ErrorKind::NotFound.into()));
        let reporting = keep_reporting(away, "boot", reported);
        tokio::join!(reporting, async { drop(account) });
    }
}
