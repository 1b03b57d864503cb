//! Server-side applies as the relay makes them, without a relay: what its times are compared with.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::relay::joined;
use super::relay_figures::Latencies;
use crate::cluster::Client;
use crate::relay::objects::CLAIMS;
use crate::relay::vms;

/// How the names of their claims begin.
pub(super) const PREFIX: &str = "bare-";
/// As many at once as the relay has requests under way.
const AT_ONCE: u32 = 8;
/// The relay's field manager: it has no field of these claims.
const MANAGER: &str = "dra-guest-relay";

/// Claims for bare applies, and who makes them.
#[derive(Debug)]
pub(super) struct BareApplies {
    client: Client,
    claims: Vec<Value>,
}

impl BareApplies {
    /// Makes the claims, allocated on the node, for applies by `client`.
    pub(super) fn new(admin: &Client, client: Client, node: &str) -> Result<Self> {
        let claims = (0..AT_ONCE).map(|n| vms::make_claim(admin, &format!("{PREFIX}{n}"), node));
        Ok(Self {
            claims: claims.collect::<Result<_>>()?,
            client,
        })
    }

    /// The time of one; `number` makes it another one than the last.
    pub(super) fn one(&self, number: usize) -> Result<Duration> {
        self.apply(self.claims.first().context("no claim")?, number)
    }

    /// The times of `count`, no more at once than the relay has; each is from the begin of all, as that of a report that
    /// waits for its turn.
    pub(super) fn many(&self, count: u32) -> Result<Latencies> {
        let begin = Instant::now();
        let of_claim = |claim| -> Result<Vec<Duration>> {
            let numbers = 0..count.div_ceil(AT_ONCE);
            let applied = numbers.map(|number| {
                self.apply(claim, usize::try_from(number)?)?;
                Ok(begin.elapsed())
            });
            applied.collect()
        };
        let times = thread::scope(|scope| {
            let threads = self.claims.iter();
            let threads: Vec<_> = threads
                .map(|claim| scope.spawn(move || of_claim(claim)))
                .collect();
            threads.into_iter().map(joined).collect::<Result<Vec<_>>>()
        })?;
        Ok(Latencies::of(times.concat()))
    }

    fn apply(&self, claim: &Value, number: usize) -> Result<Duration> {
        let name = claim.pointer("/metadata/name").and_then(Value::as_str);
        let path = format!(
            "{CLAIMS}/{}/status",
            name.context("a claim without a name")?
        );
        let status = if number.is_multiple_of(2) {
            "True"
        } else {
            "False"
        };
        let body = vms::apply_body(claim, status, &format!("v100w{number}"));
        let begin = Instant::now();
        self.client.apply(&path, MANAGER, &body)?.object()?;
        Ok(begin.elapsed())
    }
}
