//! The HTTP face of the relay: `/healthz`, `/readyz` and `/metrics`.
//!
//! It runs on the one event loop that serves the guests: an answer at all is the sign that the loop turns.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

use super::{metrics, readiness};

/// The most connections. A further one takes the place of the oldest: whoever holds connections open keeps
/// nobody else out.
const CONNECTIONS: usize = 16;
/// For the request line and the headers to come.
const HEADERS: Duration = Duration::from_secs(5);
/// For a whole connection: one request, one answer.
const CONNECTION: Duration = Duration::from_secs(10);
/// The most bytes of a request that are kept: hyper's least.
const BUFFER: usize = 8192;
/// A pause after a failed accept: what the system is short of does not come back by asking at once.
const AFTER_FAILURE: Duration = Duration::from_millis(100);

const PLAIN: &str = "text/plain; charset=utf-8";

/// Why the relay cannot show its state.
#[derive(Debug, thiserror::Error)]
#[error(
    "--metrics-address {address}: the relay cannot listen there: {error}; name an address of this host and a free port"
)]
pub struct ListenError {
    address: SocketAddr,
    error: std::io::Error,
}

/// The listener, and where it listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    /// The address; the port is the kernel's choice where 0 was asked for.
    pub address: SocketAddr,
}

impl Server {
    /// Listens.
    ///
    /// # Errors
    /// The address cannot be had.
    pub async fn bind(address: SocketAddr) -> Result<Self, ListenError> {
        let failed = |error| ListenError { address, error };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address })
    }

    /// Answers for as long as the relay runs.
    pub async fn serve(self) {
        let mut open: VecDeque<AbortHandle> = VecDeque::new();
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    open.retain(|connection| !connection.is_finished());
                    if open.len() >= CONNECTIONS
                        && let Some(oldest) = open.pop_front()
                    {
                        oldest.abort();
                    }
                    open.push_back(tokio::spawn(answer(stream)).abort_handle());
                }
                Err(error) => {
                    warn!("{}: a connection cannot be taken: {error}", self.address);
                    sleep(AFTER_FAILURE).await;
                }
            }
        }
    }
}

async fn answer(stream: TcpStream) {
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS)
        .keep_alive(false)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(stream), service_fn(respond));
    match timeout(CONNECTION, connection).await {
        Ok(Ok(())) => {}
        // Whoever asks badly is told so by hyper, or has gone away.
        Ok(Err(error)) => debug!("a request for the relay's state: {error}"),
        Err(_) => debug!("a request for the relay's state: it took too long"),
    }
}

async fn respond(request: Request<Incoming>) -> Result<Response<String>, Infallible> {
    let (status, kind, body) =
        if *request.method() != Method::GET && *request.method() != Method::HEAD {
            (
                StatusCode::METHOD_NOT_ALLOWED,
                PLAIN,
                "GET and HEAD are answered\n".to_owned(),
            )
        } else {
            match request.uri().path() {
                "/healthz" => (StatusCode::OK, PLAIN, "ok\n".to_owned()),
                "/readyz" => ready(),
                "/metrics" => scrape(),
                _ => (
                    StatusCode::NOT_FOUND,
                    PLAIN,
                    "there are /healthz, /readyz and /metrics\n".to_owned(),
                ),
            }
        };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    if status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    Ok(response)
}

fn ready() -> (StatusCode, &'static str, String) {
    let missing = readiness::missing();
    if missing.is_empty() {
        return (StatusCode::OK, PLAIN, "ok\n".to_owned());
    }
    let words = missing.iter().map(|need| format!("{}\n", need.words()));
    (StatusCode::SERVICE_UNAVAILABLE, PLAIN, words.collect())
}

fn scrape() -> (StatusCode, &'static str, String) {
    match metrics::text() {
        Ok(text) => (StatusCode::OK, metrics::CONTENT_TYPE, text),
        Err(error) => (
            StatusCode::INTERNAL_SERVER_ERROR,
            PLAIN,
            format!("the metrics cannot be shown: {error}\n"),
        ),
    }
}
