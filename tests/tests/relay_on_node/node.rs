//! A relay at work for a node, and what runs on the node.

mod objects;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use dra_guest_tests::cluster::{Asked, ControlPlane, ServiceAccount, User};
use dra_guest_tests::process::Process;
use dra_guest_tests::programs::static_program;
use dra_guest_tests::relay::monitor;
use dra_guest_tests::wait;
use serde_json::Value;

use dra_guest_tests::relay::guest::Guest;

pub struct Node<'a> {
    control: &'a ControlPlane,
    name: String,
    directory: tempfile::TempDir,
    account: String,
    arguments: Vec<String>,
    relay: Process,
}

/// Where guests may connect. All but the first are there for claims that VMs share.
const CIDS: [u32; 2] = [5, 6];

impl<'a> Node<'a> {
    /// Starts a relay with the token of a pod of the account on this node.
    pub fn start(
        control: &'a ControlPlane,
        name: &str,
        account: &ServiceAccount,
        arguments: &[&str],
    ) -> Result<Self> {
        let config = control.kubeconfig(User::Admin);
        Self::start_with(control, name, account, arguments, config)
    }

    /// The same, with the API server's place from a kubeconfig.
    pub fn start_with(
        control: &'a ControlPlane,
        name: &str,
        account: &ServiceAccount,
        arguments: &[&str],
        mut config: Value,
    ) -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let kubeconfig = directory.path().join("kubeconfig");
        config["users"][0]["user"]["token"] = account.token_on_node(name)?.into();
        fs::write(&kubeconfig, config.to_string())?;
        let mut all = vec![
            format!("--node-name={name}"),
            format!("--kubeconfig={}", kubeconfig.display()),
        ];
        all.extend(CIDS.map(|cid| {
            let socket = directory.path().join(format!("vm{cid}"));
            format!("--guest-socket=cid={cid},socket={}", socket.display())
        }));
        all.extend(arguments.iter().map(ToString::to_string));
        let relay = start_relay(directory.path(), &all)?;
        Ok(Self {
            control,
            name: name.to_owned(),
            directory,
            account: account.name().to_owned(),
            arguments: all,
            relay,
        })
    }

    /// A connection of the guest with CID 5 that has said hello, as soon as the relay knows it.
    pub fn guest(&self) -> Result<Guest> {
        self.guest_at(5)
    }

    pub fn guest_at(&self, cid: u32) -> Result<Guest> {
        let socket = self.directory.path().join(format!("vm{cid}_10739"));
        wait::until("the relay answers a guest's hello", wait::PATIENCE, || {
            Guest::connect(&socket, wait::PATIENCE)
        })
    }

    /// Kills the relay, and starts it anew.
    pub fn restart_relay(&mut self) -> Result<()> {
        self.relay.kill()?;
        self.relay = start_relay(self.directory.path(), &self.arguments)?;
        Ok(())
    }

    /// Ends the relay as the kubelet does.
    pub fn end_relay(&mut self) -> Result<()> {
        self.terminate()?;
        let code = self.exit_code()?;
        ensure!(code == Some(0), "the relay ends with {code:?}");
        Ok(())
    }

    /// What the relay has asked of the API server.
    pub fn asked(&self) -> Result<Vec<Asked>> {
        let mut asked = self.control.audit()?;
        asked.retain(|asked| asked.account == self.account);
        Ok(asked)
    }

    pub fn kubeconfig(&self) -> PathBuf {
        self.directory.path().join("kubeconfig")
    }

    /// What stands for the vsock of the guest with CID 5.
    pub fn guest_socket(&self) -> String {
        let socket = self.directory.path().join("vm5");
        format!("--guest-socket=cid=5,socket={}", socket.display())
    }

    /// Asks the relay to end, and waits until it listens no more.
    pub fn terminate(&self) -> Result<()> {
        self.relay.terminate()?;
        let socket = self.directory.path().join("vm5_10739");
        wait::until("the end of listening", wait::PATIENCE, || {
            Ok((!socket.exists()).then_some(()))
        })
    }

    /// The exit code of the relay.
    pub fn exit_code(&mut self) -> Result<Option<i32>> {
        self.relay.wait()
    }

    pub fn log(&self) -> Result<String> {
        Ok(fs::read_to_string(self.directory.path().join("relay.log"))?)
    }

    /// Status and words of the relay's answer; it was started with `--metrics-address=127.0.0.1:0`.
    pub fn get(&self, path: &str) -> Result<(u16, String)> {
        monitor::get(&self.directory.path().join("relay.log"), path)
    }

    /// The value of a series, without the prefix that all have.
    pub fn metric(&self, series: &str) -> Result<f64> {
        monitor::metric(&self.directory.path().join("relay.log"), series)
    }

    pub fn wait_for_metric(&self, series: &str, least: f64) -> Result<()> {
        self.wait_until_metric(series, |value| value >= least)
    }

    pub fn wait_until_metric(&self, series: &str, holds: impl Fn(f64) -> bool) -> Result<()> {
        wait::until(&format!("what {series} has to be"), wait::PATIENCE, || {
            Ok(holds(self.metric(series)?).then_some(()))
        })
    }

    pub fn wait_for_log(&self, words: &str) -> Result<()> {
        let log = self.directory.path().join("relay.log");
        wait::until(&format!("{words} in the log"), wait::PATIENCE, || {
            Ok(fs::read_to_string(&log)?.contains(words).then_some(()))
        })
        .with_context(|| fs::read_to_string(&log).unwrap_or_default())
    }

    pub fn wait_for_condition(&self, claim: &str, status: &str, reason: &str) -> Result<()> {
        self.wait_for(claim, &format!("{status} {reason}"), |ours| {
            ours.starts_with(&format!("{status} {reason} "))
        })
    }

    /// Waits until the claim does not have our condition, and says what else it has.
    pub fn wait_for_release(&self, claim: &str) -> Result<Value> {
        self.wait_for(claim, "no condition", str::is_empty)?;
        let mut claim = self.read(claim)?;
        let managers = claim.pointer("/metadata/managedFields");
        let managers = managers.and_then(Value::as_array).into_iter().flatten();
        for manager in managers {
            ensure!(manager["manager"] != "dra-guest-relay", "{manager}");
        }
        Ok(claim["status"]["devices"].take())
    }

    /// Waits until what our condition says, `STATUS REASON MESSAGE` or nothing, is what it should be.
    pub fn wait_for(
        &self,
        claim: &str,
        what: &str,
        mut holds: impl FnMut(&str) -> bool,
    ) -> Result<()> {
        let mut last = String::new();
        wait::until(&format!("{what} on {claim}"), wait::PATIENCE, || {
            last = said(&self.read(claim)?);
            Ok(holds(&last).then_some(()))
        })
        .with_context(|| format!("the claim says {last:?}"))
        .with_context(|| {
            fs::read_to_string(self.directory.path().join("relay.log")).unwrap_or_default()
        })
    }
}

/// What our condition says on a claim's device.
pub fn said(claim: &Value) -> String {
    let conditions = claim.pointer("/status/devices/0/conditions");
    let mut conditions = conditions.and_then(Value::as_array).into_iter().flatten();
    let ours = conditions.find(|one| one["type"] == "dra-guest/Ready");
    ours.map_or_else(String::new, |ours| {
        ["status", "reason", "message"]
            .map(|key| ours[key].as_str().unwrap().to_owned())
            .join(" ")
    })
}

fn start_relay(directory: &Path, arguments: &[String]) -> Result<Process> {
    let program = static_program("dra-guest-relay")?;
    for cid in CIDS {
        // What a relay that was killed has left.
        let _ = fs::remove_file(directory.join(format!("vm{cid}_10739")));
    }
    let mut relay = Process::start("relay", &program, arguments, directory)?;
    for cid in CIDS {
        relay.wait_for_file(&directory.join(format!("vm{cid}_10739")))?;
    }
    Ok(relay)
}
