//! Ports of the loopback interface for programs that must be told theirs.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Result, bail};

/// Below the range that Linux takes ports of outgoing connections from (`ip_local_port_range`), so
/// that none of these takes the port between its choice and its use.
const FIRST: u16 = 16_384;
const COUNT: u16 = 16_384;

/// A TCP port of 127.0.0.1 that nobody listens on.
///
/// # Errors
/// When a hundred were tried in vain.
pub(super) fn free() -> Result<u16> {
    for _ in 0..100 {
        let random = RandomState::new().build_hasher().finish();
        let port = FIRST + u16::try_from(random % u64::from(COUNT))?;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("a hundred ports of 127.0.0.1 are all in use")
}
