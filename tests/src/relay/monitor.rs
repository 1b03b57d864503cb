//! What a relay answers over HTTP.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::wait;

/// The argument with which a relay answers, on a port that its log names.
pub const METRICS: &str = "--metrics-address=127.0.0.1:0";

/// Status and words of the answer to a GET of `path`. The relay was started with [`METRICS`] and logs to `log`.
///
/// # Errors
/// When it does not answer.
pub fn get(log: &Path, path: &str) -> Result<(u16, String)> {
    let place = wait::until("where the relay answers HTTP", wait::PATIENCE, || {
        let log = fs::read_to_string(log)?;
        let place = log.split("listening on http://").nth(1);
        Ok(place.and_then(|place| Some(place.split_once(' ')?.0.to_owned())))
    })?;
    let mut stream = TcpStream::connect(place)?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: relay\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (headers, body) = answer.split_once("\r\n\r\n").context(answer.clone())?;
    let status = headers.split(' ').nth(1).context("no status")?;
    Ok((status.parse()?, body.to_owned()))
}

/// The value of a series, without the prefix that all have.
///
/// # Errors
/// See [`get`]; when there is no such series.
pub fn metric(log: &Path, series: &str) -> Result<f64> {
    let (_, text) = get(log, "/metrics")?;
    let name = format!("dra_guest_relay_{series} ");
    let line = text.lines().find_map(|line| line.strip_prefix(&name));
    Ok(line
        .with_context(|| format!("no {series} in {text}"))?
        .parse()?)
}
