//! Reads what a relay shows of itself, as Prometheus and the kubelet do.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Where a relay answers HTTP.
pub struct Monitor(pub SocketAddr);

pub struct Answer {
    pub status: u16,
    pub headers: String,
    pub body: String,
}

impl Monitor {
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.0).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_mins(1)))
            .unwrap();
        stream
    }

    pub fn request(&self, method: &str, path: &str) -> Answer {
        let mut stream = self.connect();
        write!(stream, "{method} {path} HTTP/1.1\r\nHost: relay\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (headers, body) = text.split_once("\r\n\r\n").unwrap();
        Answer {
            status: headers.split(' ').nth(1).unwrap().parse().unwrap(),
            headers: headers.to_owned(),
            body: body.to_owned(),
        }
    }

    /// Status and words.
    pub fn get(&self, path: &str) -> (u16, String) {
        let answer = self.request("GET", path);
        (answer.status, answer.body)
    }

    /// Each series with its value. What is not of the text format fails.
    pub fn scrape(&self) -> BTreeMap<String, f64> {
        let (status, text) = self.get("/metrics");
        assert_eq!(status, 200, "{text}");
        assert!(text.ends_with("# EOF\n"), "{text}");
        text.lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| {
                let (series, value) = line.rsplit_once(' ').unwrap();
                (series.to_owned(), value.parse().unwrap())
            })
            .collect()
    }

    /// The value of one series, without the prefix that all have.
    pub fn value(&self, series: &str) -> f64 {
        let all = self.scrape();
        let name = format!("dra_guest_relay_{series}");
        *all.get(&name)
            .unwrap_or_else(|| panic!("{name} is not among {:?}", all.keys()))
    }
}
