//! The agent against what a VM image does today, a script of `jq` and `ip`, for one NIC; and the
//! system calls that it makes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::system_calls::{SystemCalls, count};
use super::timing::{Candidate, medians};
use crate::command::stdout_of;
use crate::programs::static_program;
use crate::way::{NIC_MAC, NIC_NAME};

/// How often each runs.
const ROUNDS: usize = 100;
/// The name of the NIC before it is found.
const FIRST_NAME: &str = "eth7";
const ADDRESS: &str = "192.0.2.5/24";
const MTU: u64 = 1400;

/// One NIC, an end of a veth pair, in the network namespace of this process.
#[derive(Debug)]
pub struct AgentBench {
    directory: PathBuf,
    script: String,
    agent: Vec<String>,
    attributes: String,
}

/// Median wall times, and system calls.
#[derive(Debug, Clone)]
pub struct AgentFigures {
    /// The script.
    pub script: Duration,
    /// `dra-guest-agent apply` of the same NIC.
    pub apply: Duration,
    /// `apply` where nothing is to do.
    pub second_apply: Duration,
    /// The system calls of the one that changes the NIC.
    pub calls: SystemCalls,
    /// The system calls of the one that has nothing to do.
    pub second_calls: SystemCalls,
}

impl AgentBench {
    /// Makes the NIC and the files below `directory`.
    ///
    /// # Errors
    /// When the veth pair or a file cannot be made.
    pub fn new(directory: &Path) -> Result<Self> {
        ip(&format!(
            "link add {FIRST_NAME} address {NIC_MAC} type veth peer name peer"
        ))?;
        ip("link set dev peer up")?;
        let path = |name: &str| -> Result<String> {
            let path = directory.join(name);
            Ok(path.to_str().context("a path is not UTF-8")?.to_owned())
        };
        let (attributes, script) = (path("attributes.json")?, path("nic.sh")?);
        fs::write(&attributes, serde_json::to_vec_pretty(&document())?)?;
        fs::write(&script, include_str!("nic.sh"))?;
        let etc = directory.join("etc");
        fs::create_dir_all(etc.join("dra-guest"))?;
        fs::create_dir_all(directory.join("run"))?;
        fs::write(
            etc.join("dra-guest/agent.toml"),
            format!("[[device]]\nmtu = {MTU}\n"),
        )?;
        let program = static_program("dra-guest-agent")?;
        let agent = vec![
            program.to_str().context("a path is not UTF-8")?.to_owned(),
            "apply".to_owned(),
            "--etc-root".to_owned(),
            path("etc")?,
            "--run-root".to_owned(),
            path("run")?,
            "--attributes".to_owned(),
            attributes.clone(),
        ];
        Ok(Self {
            directory: directory.to_owned(),
            script,
            agent,
            attributes,
        })
    }

    /// Measures.
    ///
    /// # Errors
    /// When one of the programs fails or leaves the NIC in another state than the other.
    pub fn measure(&self) -> Result<AgentFigures> {
        let agent: Vec<&str> = self.agent.iter().map(String::as_str).collect();
        let script = vec!["sh", &self.script, &self.attributes];
        let no_reset = || Ok(());

        // The peer's outcome is the same, or the comparison is of two different things.
        for command in [&agent, &script] {
            reset()?;
            let (program, arguments) = command.split_first().context("no program")?;
            stdout_of(Command::new(program).args(arguments))?;
            check_nic().with_context(|| format!("after {program}"))?;
        }
        let candidate = |name, command, reset| Candidate {
            name,
            command,
            stdin: b"",
            reset,
        };
        let changing = [
            candidate("the script", script, &reset as &dyn Fn() -> Result<()>),
            candidate("dra-guest-agent apply", agent.clone(), &reset),
        ];
        let [script, apply] = medians(ROUNDS, &changing)?
            .try_into()
            .ok()
            .context("two candidates")?;
        check_nic()?;
        let idle = [candidate("a second apply", agent.clone(), &no_reset)];
        let [second_apply] = medians(ROUNDS, &idle)?
            .try_into()
            .ok()
            .context("one candidate")?;

        reset()?;
        let calls = count(&agent, &self.directory)?;
        // The counter can see what it counts: this one has renamed the NIC.
        ensure!(calls.link_changes > 0, "strace saw no change of a link");
        check_nic()?;
        let second_calls = count(&agent, &self.directory)?;
        Ok(AgentFigures {
            script,
            apply,
            second_apply,
            calls,
            second_calls,
        })
    }
}

fn document() -> Value {
    json!({
        "apiVersion": "dra-guest/v1",
        "kind": "DeviceAttributes",
        "macAddress": NIC_MAC,
        "devices": [{
            "claim": {"namespace": "default", "name": "vm-nic"},
            "request": "vf", "driver": "sriov.example.com", "pool": "worker-0", "device": "vf-1",
            "network": {"interfaceName": NIC_NAME, "macAddress": NIC_MAC, "ipAddresses": [ADDRESS]},
        }],
    })
}

/// The NIC as it was made: first name, down, MTU 1500, no addresses.
fn reset() -> Result<()> {
    let name = if Path::new("/sys/class/net").join(NIC_NAME).exists() {
        NIC_NAME
    } else {
        FIRST_NAME
    };
    ip(&format!("address flush dev {name}"))?;
    ip(&format!("link set dev {name} down"))?;
    ip(&format!("link set dev {name} name {FIRST_NAME} mtu 1500"))
}

fn check_nic() -> Result<()> {
    let json = stdout_of(Command::new("ip").args(["-json", "address", "show", "dev", NIC_NAME]))?;
    let nics: Value = serde_json::from_str(&json)?;
    let nic = nics.get(0).context("no such NIC")?;
    ensure!(nic.get("mtu") == Some(&json!(MTU)), "its MTU: {nic}");
    ensure!(
        json.contains("\"192.0.2.5\"") && json.contains("\"UP\""),
        "its address or state: {nic}"
    );
    Ok(())
}

fn ip(arguments: &str) -> Result<()> {
    stdout_of(Command::new("ip").args(arguments.split(' '))).map(drop)
}
