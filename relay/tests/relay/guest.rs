//! A guest's end of its connection with the relay.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value as Json, json};

pub struct Guest {
    pub stream: UnixStream,
    reader: BufReader<UnixStream>,
}

impl Guest {
    /// A connection to this socket, on which nothing is waited for longer than this.
    pub fn connect(socket: &Path, patience: Duration) -> Self {
        let stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(patience)).unwrap();
        stream.set_write_timeout(Some(patience)).unwrap();
        Self {
            reader: BufReader::new(stream.try_clone().unwrap()),
            stream,
        }
    }

    pub fn send(&mut self, message: &Json) {
        self.stream
            .write_all(format!("{message}\n").as_bytes())
            .unwrap();
    }

    /// The next answer; `None` when the relay has closed the connection.
    pub fn answer(&mut self) -> Option<Json> {
        let mut line = String::new();
        match self.reader.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => Some(serde_json::from_str(&line).unwrap()),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => None,
            Err(error) => panic!("no answer: {error}"),
        }
    }

    /// The problems of the acknowledgement, which has to have this sequence.
    pub fn acknowledged(&mut self, sequence: u64) -> Vec<String> {
        let answer = self.answer().expect("the relay has closed the connection");
        assert_eq!(answer["type"], "ack");
        assert_eq!(answer["sequence"], sequence);
        match answer.get("problems") {
            None => Vec::new(),
            Some(problems) => serde_json::from_value(problems.clone()).unwrap(),
        }
    }

    pub fn hello(&mut self) -> Vec<String> {
        self.hello_of_boot("b")
    }

    pub fn hello_of_boot(&mut self, boot: &str) -> Vec<String> {
        self.send(&json!({"type": "hello", "version": "0.1.0", "bootId": boot, "documentDigest": "sha256:00"}));
        self.acknowledged(0)
    }

    pub fn report(&mut self, sequence: u64, devices: &[Json]) -> Vec<String> {
        self.send(&json!({"type": "report", "sequence": sequence, "devices": devices}));
        self.acknowledged(sequence)
    }

    /// Sends bytes for as long as the relay takes them.
    pub fn send_all_it_takes(&mut self, bytes: &[u8]) {
        // A closed connection is what some tests are about.
        let _ = self.stream.write_all(bytes);
    }

    pub fn assert_closed(&mut self) {
        let mut rest = Vec::new();
        match self.reader.read_to_end(&mut rest) {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {}
            Err(error) => panic!("the connection is still open: {error}"),
        }
    }
}
