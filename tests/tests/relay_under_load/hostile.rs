//! Guests that want to break the relay, or to keep it from the others. Each does one thing until it is told to stop, as
//! fast as it can, and says how often it did.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use dra_guest_tests::relay::guest::{failed, report};
use serde_json::{Value, json};

/// A hostile guest: where it connects, its own claim, a claim of another, and when to stop.
pub struct Guest<'a> {
    pub socket: &'a Path,
    pub claim: &'a str,
    pub claim_of_other: &'a str,
    pub stop: &'a AtomicBool,
}

pub type Way = fn(&Guest<'_>) -> u64;

/// How many there are.
pub const HOSTILE: u32 = 10;

/// All of them, by the name of what they do.
pub const WAYS: [(&str, Way); HOSTILE as usize] = [
    ("short lines", short_lines),
    ("lines of 64 KiB", longest_lines),
    ("endless lines", endless_lines),
    ("cut JSON", cut_json),
    ("garbage", garbage),
    ("claims of others", claims_of_others),
    ("reconnects", reconnects),
    ("reads no answers", reads_no_answers),
    ("turns all the time", turns),
    ("invents devices", invents_devices),
];

const HELLO: &str =
    "{\"type\":\"hello\",\"version\":\"1\",\"bootId\":\"b\",\"documentDigest\":null}\n";
const LINE_BYTES: usize = 64 << 10;

impl Guest<'_> {
    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    /// A connection on which nothing is waited for long.
    fn connect(&self) -> Option<UnixStream> {
        let stream = UnixStream::connect(self.socket).ok()?;
        let patience = Some(Duration::from_millis(200));
        stream.set_write_timeout(patience).unwrap();
        stream.set_read_timeout(patience).unwrap();
        Some(stream)
    }

    /// Writes the same again and again, on a new connection where the relay takes no more.
    fn pour(&self, first: &str, bytes: &[u8]) -> u64 {
        let mut times = 0;
        while self.goes_on() {
            let Some(mut stream) = self.connect() else {
                thread::sleep(Duration::from_millis(1));
                continue;
            };
            let _ = stream.write_all(first.as_bytes());
            while self.goes_on() {
                times += 1;
                if stream.write_all(bytes).is_err() {
                    break;
                }
            }
        }
        times
    }

    /// Sends reports one after the other, and takes the answers.
    fn reports(&self, mut line: impl FnMut(u64) -> Value) -> u64 {
        let mut sequence = 0;
        while self.goes_on() {
            let Some(mut stream) = self.connect() else {
                continue;
            };
            let mut answers = BufReader::new(stream.try_clone().unwrap());
            let _ = stream.write_all(HELLO.as_bytes());
            while self.goes_on() {
                sequence += 1;
                let line = format!("{}\n", line(sequence));
                if stream.write_all(line.as_bytes()).is_err() {
                    break;
                }
                // It may be late, like those of a guest whose reports wait for their turn.
                let _ = answers.read_line(&mut String::new());
            }
        }
        sequence
    }
}

/// 10,000 lines at a time; the relay takes ten a second.
fn short_lines(guest: &Guest<'_>) -> u64 {
    let lines = "{\"type\":\"heartbeat\"}\n".repeat(10_000);
    guest.pour(HELLO, lines.as_bytes())
}

fn longest_lines(guest: &Guest<'_>) -> u64 {
    guest.reports(|sequence| {
        let mut device = failed(guest.claim, "Pending");
        let line = json!({"type": "report", "sequence": sequence, "devices": [device]});
        // The sequence stands in the message, so that each is another one.
        let words = format!("{sequence:08}");
        let room = LINE_BYTES - line.to_string().len() - words.len() - 1;
        device["message"] = format!("{words}{}", "x".repeat(room)).into();
        json!({"type": "report", "sequence": sequence, "devices": [device]})
    })
}

fn endless_lines(guest: &Guest<'_>) -> u64 {
    guest.pour(HELLO, &vec![b'x'; 1 << 20])
}

fn cut_json(guest: &Guest<'_>) -> u64 {
    let report =
        json!({"type": "report", "sequence": 1, "devices": [report(guest.claim)]}).to_string();
    let mut times = 0;
    while guest.goes_on() {
        for length in (1..report.len()).step_by(7) {
            // Half of them end with the connection, half with the line.
            let end = if length % 2 == 0 { "\n" } else { "" };
            if let Some(mut stream) = guest.connect() {
                let _ = stream.write_all(format!("{HELLO}{}{end}", &report[..length]).as_bytes());
                times += 1;
            }
        }
    }
    times
}

fn garbage(guest: &Guest<'_>) -> u64 {
    let mut times = 0;
    while guest.goes_on() {
        for bytes in [
            &b"{\"type\":\"heartbeat\"}\n"[..],
            b"\xff\xfe\x00\n",
            b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\n",
            b"{\"type\":\"report\",\"sequence\":1e999,\"devices\":[]}\n",
            b"GET / HTTP/1.1\r\n\r\n",
            b"\n\n\n\n",
        ] {
            let Some(mut stream) = guest.connect() else {
                continue;
            };
            let _ = stream.write_all(bytes);
            // Until the relay closes it, or has no time to.
            let _ = stream.read_to_end(&mut Vec::new());
            times += 1;
        }
    }
    times
}

fn claims_of_others(guest: &Guest<'_>) -> u64 {
    guest.reports(|sequence| {
        let device = failed(guest.claim_of_other, "ConfigurationFailed");
        json!({"type": "report", "sequence": sequence, "devices": [device]})
    })
}

fn reconnects(guest: &Guest<'_>) -> u64 {
    let mut held = Vec::new();
    let mut times = 0;
    while guest.goes_on() {
        // Some are held open, and some speak.
        if let Some(mut stream) = guest.connect() {
            if times % 3 == 0 {
                let _ = stream.write_all(HELLO.as_bytes());
            }
            held.push(stream);
            times += 1;
        }
        if held.len() > 200 {
            held.clear();
        }
    }
    times
}

fn reads_no_answers(guest: &Guest<'_>) -> u64 {
    // Each answer is long.
    let broken: Vec<Value> = (0..200).map(|_| json!({"identity": 1})).collect();
    let line = json!({"type": "report", "sequence": 1, "devices": broken}).to_string() + "\n";
    guest.pour(HELLO, line.as_bytes())
}

fn turns(guest: &Guest<'_>) -> u64 {
    guest.reports(|sequence| {
        let device = if sequence % 2 == 0 {
            report(guest.claim)
        } else {
            failed(guest.claim, "DeviceNotFound")
        };
        json!({"type": "report", "sequence": sequence, "devices": [device]})
    })
}

fn invents_devices(guest: &Guest<'_>) -> u64 {
    guest.reports(|sequence| {
        let devices: Vec<Value> = (0..100)
            .map(|device| {
                let mut report = failed(guest.claim, "Pending");
                report["identity"]["device"] = format!("nic-{sequence}-{device}").into();
                report
            })
            .collect();
        json!({"type": "report", "sequence": sequence, "devices": devices})
    })
}
