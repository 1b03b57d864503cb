//! A guest's directories, and the program at work in them.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) struct Guest {
    directory: TempDir,
}

impl Guest {
    pub(crate) fn new() -> Self {
        let directory = TempDir::new().unwrap();
        fs::create_dir_all(directory.path().join("run/kubevirt")).unwrap();
        fs::create_dir_all(directory.path().join("etc/dra-guest")).unwrap();
        Self { directory }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Puts the document into the VM mount whole, as the hook does.
    pub(crate) fn document(&self, devices: &Value) {
        let text = json!({
            "apiVersion": "dra-guest/v1", "kind": "DeviceAttributes", "devices": devices
        });
        let temporary = self.path("run/kubevirt/.new");
        fs::write(&temporary, text.to_string()).unwrap();
        fs::rename(temporary, self.path("run/kubevirt/device-attributes.json")).unwrap();
    }

    pub(crate) fn policy(&self, text: &str) {
        fs::write(self.path("etc/dra-guest/agent.toml"), text).unwrap();
    }

    pub(crate) fn with_roots(&self, mut command: Command) -> Command {
        command
            .arg("--run-root")
            .arg(self.path("run"))
            .arg("--etc-root")
            .arg(self.path("etc"));
        command
    }

    pub(crate) fn agent(&self, arguments: &str) -> Said {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dra-guest-agent"));
        command.args(arguments.split(' '));
        self.with_roots(command).output().unwrap().into()
    }

    pub(crate) fn status(&self) -> Option<Value> {
        let bytes = fs::read(self.path("run/dra-guest/status.json")).ok()?;
        Some(serde_json::from_slice(&bytes).unwrap())
    }
}

pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().expect("ended by a signal"),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

pub(crate) fn mac(number: u8) -> String {
    format!("02:00:00:00:{number:02x}:01")
}

pub(crate) fn device(number: u8, name: &str, addresses: &[&str]) -> Value {
    json!({
        "claim": {"namespace": "default", "name": format!("nic-{number}")},
        "request": "vf", "driver": "sriov.example.com", "pool": "p", "device": format!("d{number}"),
        "network": {"interfaceName": name, "macAddress": mac(number), "ipAddresses": addresses}
    })
}

/// Waits for something that is bound to come, or says what did not.
pub(crate) fn wait_for(what: &str, mut come: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !come() {
        assert!(Instant::now() < end, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
