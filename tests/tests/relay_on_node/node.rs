//! A relay at work for a node, what runs on the node, and the guest with CID 5.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use dra_guest_tests::cluster::{ControlPlane, ServiceAccount, User};
use dra_guest_tests::process::Process;
use dra_guest_tests::programs::static_program;
use dra_guest_tests::wait;
use serde_json::{Value, json};

use crate::objects::{self, CLAIMS, DRIVER, PODS, VMS};
use crate::path_of;

/// Much more than it takes.
const PATIENCE: Duration = Duration::from_mins(1);

pub struct Node<'a> {
    control: &'a ControlPlane,
    name: String,
    directory: tempfile::TempDir,
    relay: Process,
}

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
        let socket = directory.path().join("vm5");
        let all = [
            format!("--node-name={name}"),
            format!("--kubeconfig={}", kubeconfig.display()),
            format!("--guest-socket=cid=5,socket={}", socket.display()),
        ];
        let program = static_program("dra-guest-relay")?;
        let all = all
            .iter()
            .map(String::as_str)
            .chain(arguments.iter().copied());
        let mut relay = Process::start("relay", &program, all, directory.path())?;
        relay.wait_for_file(&directory.path().join("vm5_10739"))?;
        Ok(Self {
            control,
            name: name.to_owned(),
            directory,
            relay,
        })
    }

    /// Makes a claim with one device of this node, allocated.
    pub fn claim(&self, name: &str) -> Result<()> {
        let admin = self.control.admin();
        let mut claim = admin.create(CLAIMS, &objects::claim(name))?.object()?;
        claim["status"] = objects::allocation(name, &self.name);
        let path = format!("{}/status", path_of(name));
        admin.replace(&path, &claim)?.object()?;
        Ok(())
    }

    pub fn read(&self, claim: &str) -> Result<Value> {
        self.control.admin().get(&path_of(claim))?.object()
    }

    /// Applies `devices` to the status of a claim.
    pub fn apply(&self, claim: &str, manager: &str, devices: &Value) -> Result<()> {
        let fields = json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
            "metadata": {"name": claim}, "status": {"devices": devices},
        });
        let path = format!("{}/status", path_of(claim));
        self.control
            .admin()
            .apply(&path, manager, &fields)?
            .object()?;
        Ok(())
    }

    /// Makes a VM that runs on this node, and its pod.
    pub fn vm(&self, name: &str, cid: u32, claims: &[&str]) -> Result<()> {
        let admin = self.control.admin();
        let mut vm = admin
            .create(VMS, &objects::vm(name, &self.name))?
            .object()?;
        let uid = vm["metadata"]["uid"].clone();
        let pod = objects::pod(&launcher(name), &self.name, &uid, claims);
        let mut pod = admin.create(PODS, &pod)?.object()?;
        pod["status"]["resourceClaimStatuses"] = objects::claim_statuses(claims).into();
        pod["status"]["phase"] = "Running".into();
        let path = format!("{PODS}/{}/status", launcher(name));
        admin.replace(&path, &pod)?.object()?;
        vm["status"] = json!({"phase": "Running", "VSOCKCID": cid});
        admin
            .replace(&format!("{VMS}/{name}/status"), &vm)?
            .object()?;
        Ok(())
    }

    pub fn end_vm(&self, name: &str) -> Result<()> {
        self.control
            .admin()
            .delete(&format!("{VMS}/{name}"))?
            .object()?;
        Ok(())
    }

    /// Ends the pod of a VM as the kubelet does: it stays, and has succeeded.
    pub fn end_pod(&self, vm: &str) -> Result<()> {
        let path = format!("{PODS}/{}", launcher(vm));
        let mut pod = self.control.admin().get(&path)?.object()?;
        pod["status"]["phase"] = "Succeeded".into();
        let path = format!("{path}/status");
        self.control.admin().replace(&path, &pod)?.object()?;
        Ok(())
    }

    /// A connection of the guest with CID 5 that has said hello, as soon as the relay knows it.
    pub fn guest(&self) -> Result<Guest> {
        wait::until("the relay answers a guest's hello", PATIENCE, || {
            let stream = UnixStream::connect(self.directory.path().join("vm5_10739"))?;
            stream.set_read_timeout(Some(PATIENCE))?;
            let mut guest = Guest {
                answers: BufReader::new(stream.try_clone()?),
                stream,
            };
            Ok(guest.hello().is_ok().then_some(guest))
        })
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
        wait::until("the end of listening", PATIENCE, || {
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
        let place = wait::until("where the relay answers HTTP", PATIENCE, || {
            let log = self.log()?;
            let place = log.split("listening on http://").nth(1);
            Ok(place.and_then(|place| Some(place.split_once(' ')?.0.to_owned())))
        })?;
        let mut stream = TcpStream::connect(place)?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: relay\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (headers, body) = answer.split_once("\r\n\r\n").context(answer.clone())?;
        let status = headers.split(' ').nth(1).context("no status")?;
        Ok((status.parse()?, body.to_owned()))
    }

    /// The value of a series, without the prefix that all have.
    pub fn metric(&self, series: &str) -> Result<f64> {
        let (_, text) = self.get("/metrics")?;
        let name = format!("dra_guest_relay_{series} ");
        let line = text.lines().find_map(|line| line.strip_prefix(&name));
        Ok(line
            .with_context(|| format!("no {series} in {text}"))?
            .parse()?)
    }

    pub fn wait_for_metric(&self, series: &str, least: f64) -> Result<()> {
        wait::until(&format!("{least} of {series}"), PATIENCE, || {
            Ok((self.metric(series)? >= least).then_some(()))
        })
    }

    pub fn wait_for_log(&self, words: &str) -> Result<()> {
        let log = self.directory.path().join("relay.log");
        wait::until(&format!("{words} in the log"), PATIENCE, || {
            Ok(fs::read_to_string(&log)?.contains(words).then_some(()))
        })
        .with_context(|| fs::read_to_string(&log).unwrap_or_default())
    }

    pub fn wait_for_condition(&self, claim: &str, status: &str, reason: &str) -> Result<()> {
        wait::until(&format!("{status} on {claim}"), PATIENCE, || {
            let claim = self.read(claim)?;
            let conditions = claim.pointer("/status/devices/0/conditions");
            let holds = conditions.and_then(Value::as_array).is_some_and(|all| {
                all.iter().any(|one| {
                    one["type"] == "dra-guest/Ready"
                        && one["status"] == status
                        && one["reason"] == reason
                })
            });
            Ok(holds.then_some(()))
        })
        .with_context(|| format!("the log is in {}", self.directory.path().display()))
    }
}

fn launcher(vm: &str) -> String {
    format!("virt-launcher-{vm}")
}

/// What an agent says when all is well.
pub fn report(claim: &str) -> Value {
    json!({
        "identity": {
            "claim": {"namespace": "default", "name": claim},
            "request": "vf", "driver": DRIVER, "pool": "p", "device": claim,
        },
        "ready": true, "reason": "Configured", "message": "", "interfaceName": "net1", "addresses": [],
    })
}

pub struct Guest {
    stream: UnixStream,
    answers: BufReader<UnixStream>,
}

impl Guest {
    fn hello(&mut self) -> Result<()> {
        self.send(
            &json!({"type": "hello", "version": "0.1.0", "bootId": "b", "documentDigest": null}),
        )?;
        self.acknowledged(0)?;
        Ok(())
    }

    pub fn heartbeat(&mut self) -> Result<()> {
        self.send(&json!({"type": "heartbeat"}))
    }

    /// Reports one device, and gives the problems of the answer; `null` when there are none.
    pub fn report(&mut self, sequence: u64, device: &Value) -> Result<Value> {
        self.say(sequence, device)?;
        self.acknowledged(sequence)
    }

    /// Reports one device, and does not wait for the answer.
    pub fn say(&mut self, sequence: u64, device: &Value) -> Result<()> {
        self.send(&json!({"type": "report", "sequence": sequence, "devices": [device]}))
    }

    /// Waits until the relay has closed the connection.
    pub fn wait_for_end(&mut self) -> Result<()> {
        let mut line = String::new();
        let read = self.answers.read_line(&mut line)?;
        ensure!(read == 0, "the relay says {line}");
        Ok(())
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        Ok(self.stream.write_all(format!("{message}\n").as_bytes())?)
    }

    fn acknowledged(&mut self, sequence: u64) -> Result<Value> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        let mut answer: Value = serde_json::from_str(&line)?;
        ensure!(answer["sequence"] == sequence, "{answer}");
        Ok(answer["problems"].take())
    }
}
