//! A directory with claims, a relay at work on it, and guests that talk to it.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use dra_guest_relay::manifest::Format;
use dra_guest_relay::value::Value;
use serde_json::{Value as Json, json};

use crate::guest::Guest;
use crate::monitor::Monitor;

/// The longest that anything is waited for. No test is about time; this ends one that hangs.
const PATIENCE: Duration = Duration::from_mins(1);

/// Waits until something holds.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "in vain waited for: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub struct World {
    pub directory: tempfile::TempDir,
}

impl World {
    /// With an empty directory of claims.
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("claims")).unwrap();
        Self { directory }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn claim_path(&self, name: &str) -> PathBuf {
        self.path("claims").join(name)
    }

    /// Puts a claim with one device, `nic-NAME`, in the file `NAME.yaml`.
    pub fn put_claim(&self, name: &str) {
        fs::write(self.claim_path(&format!("{name}.yaml")), claim_yaml(name)).unwrap();
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dra-guest-relay"));
        command
            .current_dir(self.directory.path())
            .args(["--claims", "claims"])
            .args(arguments)
            .env_remove("NOTIFY_SOCKET")
            .stdin(Stdio::null());
        command
    }

    /// Starts a relay, and returns when it listens everywhere that it has to.
    pub fn relay(&self, arguments: &[&str]) -> Relay {
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.path("log"))
            .unwrap();
        let mut child = self
            .command(arguments)
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let sockets = arguments
            .iter()
            .filter(|a| a.contains("socket=") || **a == "--metrics-address")
            .count();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut listening = Vec::new();
        while listening.len() < sockets.max(1) {
            let mut line = String::new();
            let read = output.read_line(&mut line).unwrap();
            assert!(read > 0, "the relay ended at its start:\n{}", self.log());
            listening.push(line);
        }
        Relay { child, listening }
    }

    /// A relay with guest 5, whose claim is `default/a`.
    pub fn relay_of_one(&self) -> Relay {
        self.relay(&["--guest", "cid=5,socket=vm5,claim=default/a"])
    }

    /// A relay with guest 5, whose claim is `default/a`, that answers HTTP; and where it does.
    pub fn monitored_relay(&self, more: &[&str]) -> (Relay, Monitor) {
        let arguments = ["--guest", "cid=5,socket=vm5,claim=default/a"];
        let monitored = ["--metrics-address", "127.0.0.1:0"];
        let relay = self.relay(&[&arguments[..], &monitored, more].concat());
        let place = relay.listening.last().unwrap();
        let address = place
            .split(['/', ' '])
            .find(|part| part.starts_with("127."))
            .unwrap();
        let monitor = Monitor(address.parse().unwrap());
        (relay, monitor)
    }

    /// A relay with guest 5, whose claim is `default/a`, and guest 6, whose claim is `default/b`.
    pub fn relay_of_two(&self) -> Relay {
        self.put_claim("a");
        self.put_claim("b");
        self.relay(&[
            "--guest",
            "cid=5,socket=vm5,claim=default/a",
            "--guest",
            "cid=6,socket=vm6,claim=default/b",
        ])
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    /// A connection as vhost-device-vsock makes it for the guest with this `uds-path`.
    pub fn connect(&self, uds_path: &str) -> Guest {
        Guest::connect(&self.path(&format!("{uds_path}_10739")), PATIENCE)
    }

    /// A connection that has said hello.
    pub fn agent(&self, uds_path: &str) -> Guest {
        let mut guest = self.connect(uds_path);
        assert_eq!(guest.hello(), Vec::<String>::new());
        guest
    }

    /// Our condition on the first device of a claim: status, reason, message, lastTransitionTime.
    pub fn condition(&self, file: &str) -> Option<[String; 4]> {
        condition_in(&self.claim_path(file))
    }

    pub fn status(&self, file: &str) -> String {
        self.condition(file)
            .map(|[status, reason, ..]| format!("{status} {reason}"))
            .unwrap_or_default()
    }
}

fn condition_in(path: &Path) -> Option<[String; 4]> {
    let format = Format::of(path).unwrap();
    let text = fs::read_to_string(path).unwrap();
    let documents = format.parse("claim", &text).unwrap();
    let claim = documents
        .iter()
        .find(|document| document.text("kind") == Some("ResourceClaim"))?;
    let devices = claim.get("status")?.list("devices").unwrap();
    let ours = devices.first()?.list("conditions").unwrap().iter();
    let ours: Vec<&Value> = ours
        .filter(|condition| condition.text("type") == Some("dra-guest/Ready"))
        .collect();
    assert!(ours.len() <= 1, "the condition stands twice");
    let text = |key| ours.first()?.text(key).map(str::to_owned);
    Some([
        text("status")?,
        text("reason")?,
        text("message")?,
        text("lastTransitionTime")?,
    ])
}

pub fn claim_yaml(name: &str) -> String {
    format!(
        "apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: {name}
  namespace: default
spec:
  devices:
    requests:
    - name: vf
      exactly:
        deviceClassName: sriov.example.com
status:
  allocation:
    devices:
      results:
      - request: vf
        driver: sriov.example.com
        pool: worker-0
        device: nic-{name}
"
    )
}

/// A ready report of the device of the claim that [`World::put_claim`] makes.
pub fn ready(claim: &str) -> Json {
    json!({
        "identity": {
            "claim": {"namespace": "default", "name": claim},
            "request": "vf", "driver": "sriov.example.com", "pool": "worker-0",
            "device": format!("nic-{claim}"),
        },
        "ready": true, "reason": "Configured", "message": "",
        "interfaceName": "net1", "macAddress": "02:00:00:4e:92:87",
        "addresses": ["192.0.2.5/24"], "guestPciAddress": "0000:81:00.0", "numaNode": 1,
    })
}

/// What [`ready`] becomes on the claim.
pub const READY_MESSAGE: &str =
    "net1 02:00:00:4e:92:87 at 0000:81:00.0 on NUMA node 1, 192.0.2.5/24";

pub fn not_ready(claim: &str, reason: &str, message: &str) -> Json {
    let mut report = ready(claim);
    report["ready"] = json!(false);
    report["reason"] = json!(reason);
    report["message"] = json!(message);
    report
}

pub struct Relay {
    pub child: Child,
    pub listening: Vec<String>,
}

impl Relay {
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = i32::try_from(self.child.id()).unwrap();
        rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), signal)
            .unwrap();
    }

    pub fn wait(&mut self) -> ExitStatus {
        let mut status = None;
        until("the end of the relay", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }

    /// Its memory in KiB: the most that it ever was.
    pub fn peak_memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    pub fn open_files(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.child.id()))
            .unwrap()
            .count()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
