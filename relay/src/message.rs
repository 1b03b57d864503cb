//! One line of a guest to a message: lenient where a newer agent may say more, strict else.

use device_attributes::report::{DeviceReport, GuestMessage};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::plain_text::plain;

/// The most bytes of a parser's words that are passed on.
const WORDS_BYTES: usize = 256;

/// What a line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A new account begins.
    Hello {
        /// The agent's version.
        version: String,
        /// The boot of the guest.
        boot_id: String,
        /// The document that the agent works from.
        document_digest: Option<String>,
    },
    /// The state of devices.
    Report {
        /// To be acknowledged.
        sequence: u64,
        /// Each device's report, or what is wrong with it: one does not spoil the others.
        devices: Vec<Result<DeviceReport, String>>,
    },
    /// The agent lives.
    Heartbeat,
    /// A type of a later version of the protocol. It is acknowledged with a problem if it has a
    /// `sequence`, and passed over else, so that an agent may be newer than its relay.
    Unknown {
        /// The type.
        kind: String,
        /// To be acknowledged, if there is one.
        sequence: Option<u64>,
    },
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(rename = "type")]
    kind: String,
    sequence: Option<u64>,
    #[serde(borrow)]
    devices: Option<Vec<&'a RawValue>>,
}

/// Reads a line, its newline included or not.
///
/// # Errors
/// A phrase for the log: the line is not of the protocol.
pub fn parse(line: &[u8]) -> Result<Line, String> {
    let text = std::str::from_utf8(line).map_err(|_| "it is not UTF-8".to_owned())?;
    let words = |error: serde_json::Error| plain(&error.to_string(), WORDS_BYTES);
    let envelope: Envelope = serde_json::from_str(text).map_err(words)?;
    match envelope.kind.as_str() {
        "report" => Ok(Line::Report {
            sequence: envelope.sequence.ok_or("a report without a sequence")?,
            devices: envelope
                .devices
                .ok_or("a report without devices")?
                .into_iter()
                .map(|device| serde_json::from_str(device.get()).map_err(words))
                .collect(),
        }),
        "hello" | "heartbeat" => match serde_json::from_str(text).map_err(words)? {
            GuestMessage::Hello {
                version,
                boot_id,
                document_digest,
            } => Ok(Line::Hello {
                version: plain(&version, 64),
                boot_id: plain(&boot_id, 64),
                document_digest: document_digest.map(|digest| plain(&digest, 128)),
            }),
            GuestMessage::Report { .. } | GuestMessage::Heartbeat {} => Ok(Line::Heartbeat),
        },
        _ => Ok(Line::Unknown {
            kind: plain(&envelope.kind, 64),
            sequence: envelope.sequence,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_broken_device_does_not_spoil_the_others() {
        let line = br#"{"type":"report","sequence":7,"devices":[
            {"identity":{"device":"a"},"ready":true,"reason":"Configured"},
            {"identity":{"device":"b"},"ready":false,"reason":"OfALaterVersion"}]}"#;
        let Line::Report { sequence, devices } = parse(line).unwrap() else {
            panic!("not a report")
        };
        assert_eq!(sequence, 7);
        assert!(devices[0].is_ok());
        let problem = devices[1].as_ref().unwrap_err();
        assert!(
            problem.contains("unknown variant `OfALaterVersion`"),
            "{problem}"
        );
    }

    #[test]
    fn a_newer_agent_is_understood_as_far_as_it_can_be() {
        assert_eq!(
            parse(br#"{"type":"goodbye","sequence":3,"more":{"x":[1]}}"#).unwrap(),
            Line::Unknown {
                kind: "goodbye".to_owned(),
                sequence: Some(3)
            }
        );
        assert_eq!(
            parse(b"{\"type\":\"heartbeat\",\"load\":0.5}\n").unwrap(),
            Line::Heartbeat
        );
    }

    #[test]
    fn what_is_not_of_the_protocol_is_refused() {
        for (line, why) in [
            (&b""[..], "EOF"),
            (b"GET / HTTP/1.1", "expected value"),
            (b"\xff\xfe", "not UTF-8"),
            (b"{}", "missing field `type`"),
            (br#"{"type":"report","devices":[]}"#, "without a sequence"),
            (br#"{"type":"report","sequence":1}"#, "without devices"),
            (
                br#"{"type":"report","sequence":-1,"devices":[]}"#,
                "invalid value",
            ),
            (br#"{"type":"hello"}"#, "missing field"),
        ] {
            let words = parse(line).unwrap_err();
            assert!(words.contains(why), "{words}");
        }
        // Passed over without recursion, however deep.
        let deep = format!("{{\"type\":\"x\",\"y\":{}", "[".repeat(60_000));
        assert!(parse(deep.as_bytes()).unwrap_err().contains("EOF"));
    }
}
