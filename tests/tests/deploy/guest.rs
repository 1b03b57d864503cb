//! The guest at the socket that its vhost-device-vsock would have.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

use anyhow::{Result, ensure};
use device_attributes::report::PORT;
use dra_guest_tests::cluster::NODE;
use dra_guest_tests::wait;
use serde_json::{Value, json};

use crate::bed::DRIVER;

pub struct Guest {
    stream: UnixStream,
    answers: BufReader<UnixStream>,
}

impl Guest {
    /// A connection that has said hello, as soon as the relay knows its VM.
    pub fn connect(vsock: &Path) -> Result<Self> {
        let path = format!("{}_{PORT}", vsock.display());
        wait::until(
            "the relay answers the guest's hello",
            wait::PATIENCE,
            || {
                // Not there yet, or what a relay that was killed has left.
                let Ok(stream) = UnixStream::connect(&path) else {
                    return Ok(None);
                };
                stream.set_read_timeout(Some(wait::PATIENCE))?;
                let mut guest = Self {
                    answers: BufReader::new(stream.try_clone()?),
                    stream,
                };
                let hello = json!({"type": "hello", "version": "0.1.0", "bootId": "b", "documentDigest": null});
                Ok(guest.say(&hello, 0).is_ok().then_some(guest))
            },
        )
    }

    /// Reports that the device of a claim is ready under this name, or waits for one where it has none, and
    /// gives the problems of the answer.
    pub fn report(
        &mut self,
        sequence: u64,
        claim: &Value,
        device: &str,
        interface: Option<&str>,
    ) -> Result<Value> {
        let device = json!({
            "identity": {
                "claim": {"namespace": "default", "name": claim["metadata"]["name"]},
                "request": "vf", "driver": DRIVER, "pool": NODE, "device": device,
            },
            "ready": interface.is_some(), "message": "", "interfaceName": interface,
            "reason": if interface.is_some() { "Configured" } else { "Pending" },
            "macAddress": "02:00:00:4e:92:87", "guestPciAddress": "0000:81:00.0",
            "addresses": ["192.0.2.5/24"],
        });
        let report = json!({"type": "report", "sequence": sequence, "devices": [device]});
        self.say(&report, sequence)
    }

    fn say(&mut self, message: &Value, sequence: u64) -> Result<Value> {
        self.stream.write_all(format!("{message}\n").as_bytes())?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        let mut answer: Value = serde_json::from_str(&line)?;
        ensure!(answer["sequence"] == sequence, "{answer}");
        Ok(answer["problems"].take())
    }
}
