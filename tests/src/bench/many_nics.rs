//! An `apply` of many NICs against its floor, and what a second one, `plan` and `run` cost.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::floor::Floor;
use super::memory::{Memory, memory_of_run};
use super::nmstate::Nmstate;
use super::system_calls::{SystemCalls, count};
use super::timing::{Candidate, medians};
use crate::command::stdout_of;
use crate::programs::static_program;

const MTU: u64 = 1400;
const PREFIX_LENGTH: u8 = 24;

/// So many NICs, ends of veth pairs, in the network namespace of this process.
#[derive(Debug)]
pub struct ManyNics {
    count: usize,
    directory: PathBuf,
    program: String,
    arguments: Vec<String>,
}

/// Median wall times of one number of NICs, each NIC renamed, set up, with an MTU and an address.
#[derive(Debug, Clone)]
pub struct ManyNicsFigures {
    /// The number of NICs.
    pub count: usize,
    /// The bytes of the document.
    pub document_bytes: usize,
    /// How many changes the kernel was asked for.
    pub changes: usize,
    /// The floor: the changes alone.
    pub floor: Duration,
    /// The floor with the two looks at the kernel.
    pub floor_with_looks: Duration,
    /// The floor with these, and with the files that are there in the end.
    pub floor_with_files: Duration,
    /// `apply`.
    pub apply: Duration,
    /// The system calls of that.
    pub calls: SystemCalls,
    /// `apply` where nothing is to do.
    pub second_apply: Duration,
    /// The system calls of that.
    pub second_calls: SystemCalls,
    /// `plan` of all that `apply` does.
    pub plan: Duration,
    /// The same addresses by `nmstatectl apply --kernel`, of interfaces that have their names already; no MTU.
    pub nmstate: Duration,
    /// The memory of `run`.
    pub memory: Memory,
}

impl ManyNics {
    /// Makes the NICs, and the files below `directory`, the agent's own in memory.
    ///
    /// # Errors
    /// When one cannot be made.
    pub fn new(directory: &Path, count: usize) -> Result<Self> {
        ensure!(count > 0 && count <= 256, "{count} NICs");
        let directory = directory.join(format!("nics-{count}"));
        let path = |name: &str| -> Result<String> {
            let path = directory.join(name);
            Ok(path.to_str().context("a path is not UTF-8")?.to_owned())
        };
        let program = static_program("dra-guest-agent")?;
        let nics = Self {
            count,
            program: program.to_str().context("a path is not UTF-8")?.to_owned(),
            arguments: vec![
                "--etc-root".to_owned(),
                path("etc")?,
                "--run-root".to_owned(),
                path("run")?,
                "--attributes".to_owned(),
                path("attributes.json")?,
            ],
            directory: directory.clone(),
        };
        fs::create_dir_all(directory.join("etc/dra-guest"))?;
        fs::create_dir_all(directory.join("run"))?;
        let policy = format!("[[device]]\nmtu = {MTU}\n");
        fs::write(directory.join("etc/dra-guest/agent.toml"), policy)?;
        fs::write(directory.join("attributes.json"), nics.document())?;
        let run = path("run")?;
        stdout_of(Command::new("mount").args(["-t", "tmpfs", "tmpfs", run.as_str()]))?;
        nics.batch(|nic| {
            format!(
                "link add eth{nic} address {} type veth peer name peer{nic}\n\
                 link set dev peer{nic} up\n",
                mac(nic)
            )
        })?;
        Ok(nics)
    }

    /// Measures; `rounds` for each program.
    ///
    /// # Errors
    /// When one of the programs fails, or a NIC is not as it is to be.
    pub fn measure(&self, rounds: usize) -> Result<ManyNicsFigures> {
        let apply = self.command("apply");
        let plan = self.command("plan");
        let floor = Floor::of(&apply, &self.directory, &self.directory.join("run"))?;
        self.check(MTU)?;
        let nmstate = self.nmstate(rounds)?;
        let text = |path: &Path| {
            path.to_str()
                .map(str::to_owned)
                .context("a path is not UTF-8")
        };
        let (program, changes, all, files) = (
            text(&floor.program)?,
            text(&floor.changes)?,
            text(&floor.all)?,
            text(&floor.files)?,
        );
        let candidate = |name, command, reset| Candidate {
            name,
            command,
            stdin: b"",
            reset,
        };
        let reset: &dyn Fn() -> Result<()> = &|| self.reset();
        let cold = [
            candidate("the floor", vec![&program, &changes], reset),
            candidate("the floor with looks", vec![&program, &all], reset),
            candidate(
                "the floor with looks and files",
                vec![&program, &all, &files],
                reset,
            ),
            candidate("dra-guest-agent plan", plan, reset),
            candidate("dra-guest-agent apply", apply.clone(), reset),
        ];
        let [
            floor_time,
            floor_with_looks,
            floor_with_files,
            plan,
            apply_time,
        ] = medians(rounds, &cold)?
            .try_into()
            .ok()
            .context("five candidates")?;
        self.check(MTU)?;
        let warm = [candidate("a second apply", apply.clone(), &|| Ok(()))];
        let second_apply = medians(rounds, &warm)?
            .first()
            .copied()
            .context("one candidate")?;
        let second_calls = count(&apply, &self.directory)?;
        ensure!(
            second_calls.link_changes == 0,
            "a second apply changed a link"
        );
        self.reset()?;
        let calls = count(&apply, &self.directory)?;
        self.reset()?;
        let memory = memory_of_run(&self.command("run"), &self.directory.join("run"))?;
        self.check(MTU)?;
        self.remove()?;
        Ok(ManyNicsFigures {
            count: self.count,
            document_bytes: self.document().len(),
            changes: floor.change_count,
            floor: floor_time,
            floor_with_looks,
            floor_with_files,
            apply: apply_time,
            calls,
            second_apply,
            second_calls,
            plan,
            nmstate,
            memory,
        })
    }

    fn nmstate(&self, rounds: usize) -> Result<Duration> {
        let interfaces =
            (1..=self.count).map(|nic| (format!("vf{nic}"), address(nic), PREFIX_LENGTH));
        let nmstate = Nmstate::new(&self.directory, interfaces)?;
        let candidate = Candidate {
            name: "nmstatectl apply --kernel",
            command: nmstate.command().context("a path is not UTF-8")?,
            stdin: b"",
            reset: &|| {
                self.reset()?;
                self.batch(|nic| format!("link set dev eth{nic} name vf{nic}\n"))
            },
        };
        let times = medians(rounds, &[candidate])?;
        self.check(1500)?;
        times.first().copied().context("one candidate")
    }

    fn command<'a>(&'a self, command: &'a str) -> Vec<&'a str> {
        let arguments = self.arguments.iter().map(String::as_str);
        [self.program.as_str(), command]
            .into_iter()
            .chain(arguments)
            .collect()
    }

    fn document(&self) -> String {
        let devices: Vec<Value> = (1..=self.count)
            .map(|nic| {
                json!({
                    "claim": {"namespace": "default", "name": format!("nic-{nic}")},
                    "request": "vf", "driver": "sriov.example.com", "pool": "worker-0",
                    "device": format!("vf-{nic}"),
                    "network": {
                        "interfaceName": format!("vf{nic}"), "macAddress": mac(nic),
                        "ipAddresses": [format!("{}/{PREFIX_LENGTH}", address(nic))]
                    },
                })
            })
            .collect();
        json!({"apiVersion": "dra-guest/v1", "kind": "DeviceAttributes", "devices": devices})
            .to_string()
    }

    /// The NICs as they were made: first name, down, MTU 1500, no addresses; and no file of the agent's.
    fn reset(&self) -> Result<()> {
        if Path::new("/sys/class/net/vf1").exists() {
            self.batch(|nic| {
                format!(
                    "address flush dev vf{nic}\nlink set dev vf{nic} down\n\
                     link set dev vf{nic} name eth{nic} mtu 1500\n"
                )
            })?;
        }
        for entry in fs::read_dir(self.directory.join("run"))? {
            fs::remove_dir_all(entry?.path())?;
        }
        Ok(())
    }

    fn remove(&self) -> Result<()> {
        self.batch(|nic| format!("link delete dev vf{nic}\n"))
    }

    fn check(&self, mtu: u64) -> Result<()> {
        let json = stdout_of(Command::new("ip").args(["-json", "-4", "address", "show", "up"]))?;
        let nics: Vec<Value> = serde_json::from_str(&json)?;
        for nic in 1..=self.count {
            let name = format!("vf{nic}");
            let found = nics
                .iter()
                .find(|found| found.get("ifname") == Some(&json!(name)));
            let found = found.with_context(|| format!("{name} is not up or has no address"))?;
            ensure!(found.get("mtu") == Some(&json!(mtu)), "its MTU: {found}");
            ensure!(
                found.to_string().contains(&address(nic)),
                "its address: {found}"
            );
        }
        Ok(())
    }

    fn batch(&self, commands: impl Fn(usize) -> String) -> Result<()> {
        let file = self.directory.join("batch");
        fs::write(&file, (1..=self.count).map(commands).collect::<String>())?;
        stdout_of(Command::new("ip").arg("-batch").arg(&file)).map(drop)
    }
}

fn mac(nic: usize) -> String {
    format!("02:00:00:00:{:02x}:{:02x}", nic / 256, nic % 256)
}

fn address(nic: usize) -> String {
    format!("10.{}.{}.5", nic / 256, nic % 256)
}
