//! Many VMs of one node, each with a claim, and the relay of the node.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::guest::{self, Guest};
use super::monitor::{self, METRICS};
use super::objects::{self, CLAIMS};
use super::resources::{self, Memory};
use super::vms::{self, FIRST_CID, claim_name};
use crate::cluster::{Asked, Client, ControlPlane, ServiceAccount, User};
use crate::process::Process;
use crate::programs::static_program;
use crate::wait;

/// The VMs `NODE-0`, `NODE-1` and so on of a node, their claims `nic-NODE-0` and so on, and a relay at work for them.
#[derive(Debug)]
pub struct Fleet<'a> {
    control: &'a ControlPlane,
    node: String,
    size: u32,
    directory: tempfile::TempDir,
    account: ServiceAccount,
    writer: Client,
    relay: Mutex<Process>,
}

impl<'a> Fleet<'a> {
    /// Makes `size` VMs, and starts the relay; `strangers` more sockets are there whose CID no VM has.
    ///
    /// # Errors
    /// When the API server refuses an object. So for all that follows: when it or the relay does not do as it is asked.
    pub fn start(control: &'a ControlPlane, node: &str, size: u32, strangers: u32) -> Result<Self> {
        let account =
            ServiceAccount::create(control.admin(), &format!("relay-{node}"), &objects::rules())?;
        let token = account.token_on_node(node)?;
        vms::make_vms(control.admin(), node, size)?;
        let directory = tempfile::tempdir()?;
        let mut config = control.kubeconfig(User::Admin);
        *config
            .pointer_mut("/users/0/user/token")
            .context("a kubeconfig without a token")? = token.as_str().into();
        fs::write(directory.path().join("kubeconfig"), config.to_string())?;
        let relay = start_relay(directory.path(), node, size + strangers)?;
        Ok(Self {
            control,
            node: node.to_owned(),
            size,
            directory,
            writer: control.admin().with_token(&token),
            account,
            relay: Mutex::new(relay),
        })
    }

    fn relay(&self) -> MutexGuard<'_, Process> {
        self.relay.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The numbers of the VMs.
    pub fn numbers(&self) -> std::ops::Range<u32> {
        0..self.size
    }

    /// The name of a VM's claim.
    pub fn claim(&self, number: u32) -> String {
        claim_name(&self.node, number)
    }

    /// What a VM's agent says when all is well, with an interface name that says whose word it is, and which.
    pub fn word(&self, number: u32, word: u32) -> Value {
        let mut report = guest::report(&self.claim(number));
        if let Some(name) = report.get_mut("interfaceName") {
            *name = interface_name(number, word).into();
        }
        report
    }

    /// Where a VM's guest connects.
    pub fn socket(&self, number: u32) -> PathBuf {
        listening(self.directory.path(), FIRST_CID + number)
    }

    /// A connection of a VM's guest that has said hello, as soon as the relay knows it.
    ///
    /// # Errors
    /// See [`Fleet::start`].
    pub fn guest(&self, number: u32) -> Result<Guest> {
        let socket = self.socket(number);
        wait::until("the relay answers a guest's hello", wait::PATIENCE, || {
            Ok(Guest::connect(&socket, wait::PATIENCE).ok().flatten())
        })
    }

    /// A client with the relay's own token.
    pub fn as_relay(&self) -> &Client {
        &self.writer
    }

    /// What our condition says on the claim of a VM: the whole of it, if it has it.
    ///
    /// # Errors
    /// See [`Fleet::start`].
    pub fn condition(&self, number: u32) -> Result<Option<Value>> {
        let path = format!("{CLAIMS}/{}", self.claim(number));
        let claim = self.control.admin().get(&path)?.object()?;
        Ok(condition(&claim))
    }

    /// Which of its guest's words the claim of a VM has; 0 when it has none.
    ///
    /// # Errors
    /// See [`Fleet::start`]; when it has the word of another guest.
    pub fn word_of(&self, number: u32) -> Result<u32> {
        let Some(condition) = self.condition(number)? else {
            return Ok(0);
        };
        let message = condition.get("message").and_then(Value::as_str);
        let own = interface_name(number, 0);
        let word = message.and_then(|message| message.strip_prefix(own.trim_end_matches('0')));
        word.and_then(|word| word.parse().ok())
            .with_context(|| format!("the claim of VM {number} says {condition}"))
    }

    /// Waits until the claim of a VM has that word of its guest's.
    ///
    /// # Errors
    /// See [`Fleet::start`].
    pub fn wait_for_word(&self, number: u32, word: u32) -> Result<()> {
        let mut last = 0;
        let what = interface_name(number, word);
        wait::until(&format!("{what} on its claim"), wait::PATIENCE, || {
            last = self.word_of(number)?;
            Ok((last == word).then_some(()))
        })
        .with_context(|| format!("the claim has word {last}"))
    }

    /// Kills the relay, with all that it has not written.
    ///
    /// # Errors
    /// See [`Fleet::start`].
    pub fn kill_relay(&self) -> Result<()> {
        self.relay().kill()
    }

    /// Starts a relay in place of the one that was killed. It ends with the thread that calls this.
    ///
    /// # Errors
    /// See [`Fleet::start`].
    pub fn start_relay(&self) -> Result<()> {
        *self.relay() = start_relay(self.directory.path(), &self.node, self.size)?;
        Ok(())
    }

    /// The relay's memory.
    ///
    /// # Errors
    /// When it does not run.
    pub fn memory(&self) -> Result<Memory> {
        resources::memory(self.relay().id())
    }

    /// The time that the relay, which has one thread, has had on a processor.
    ///
    /// # Errors
    /// When it does not run.
    pub fn processor_time(&self) -> Result<Duration> {
        resources::processor_time(self.relay().id())
    }

    /// How many files the relay has open.
    ///
    /// # Errors
    /// When it does not run.
    pub fn open_files(&self) -> Result<usize> {
        resources::open_files(self.relay().id())
    }

    /// The value of a series of the relay's metrics.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn metric(&self, series: &str) -> Result<f64> {
        monitor::metric(&self.directory.path().join("relay.log"), series)
    }

    /// The relay's log.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn log(&self) -> Result<String> {
        Ok(fs::read_to_string(self.directory.path().join("relay.log"))?)
    }

    /// What was asked of the API server with the relay's account.
    ///
    /// # Errors
    /// See [`Fleet::start`].
    pub fn asked(&self) -> Result<Vec<Asked>> {
        let mut asked = self.control.audit()?;
        asked.retain(|asked| asked.account == self.account.name());
        Ok(asked)
    }
}

/// Our condition on a claim's device.
pub fn condition(claim: &Value) -> Option<Value> {
    let conditions = claim.pointer("/status/devices/0/conditions")?.as_array()?;
    let ours = conditions.iter().find(|one| {
        one.get("type")
            .is_some_and(|kind| kind == "dra-guest/Ready")
    });
    ours.cloned()
}

/// At most 15 bytes, as the kernel has it (`IFNAMSIZ`).
fn interface_name(number: u32, word: u32) -> String {
    format!("v{number}w{word}")
}

fn listening(directory: &Path, cid: u32) -> PathBuf {
    directory.join(format!("vm{cid}_10739"))
}

fn start_relay(directory: &Path, node: &str, sockets: u32) -> Result<Process> {
    let program = static_program("dra-guest-relay")?;
    let mut arguments = vec![
        format!("--node-name={node}"),
        format!("--kubeconfig={}", directory.join("kubeconfig").display()),
        METRICS.to_owned(),
        // The last words of guests that have said all stay as they are.
        "--lost-after=3600".to_owned(),
    ];
    for cid in FIRST_CID..FIRST_CID + sockets {
        // What a relay that was killed has left.
        let _ = fs::remove_file(listening(directory, cid));
        let socket = directory.join(format!("vm{cid}"));
        arguments.push(format!(
            "--guest-socket=cid={cid},socket={}",
            socket.display()
        ));
    }
    let mut relay = Process::start("relay", &program, &arguments, directory)?;
    relay.wait_for_file(&listening(directory, FIRST_CID + sockets - 1))?;
    Ok(relay)
}
