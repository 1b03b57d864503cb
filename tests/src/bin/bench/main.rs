//! Measures the hook, the NRI plugin, the agent and the relay against their peers, and prints the ratios. `bench relay`
//! and `bench nri` measure one of them alone, `bench nics` the agent with many NICs, `bench hook` the hook,
//! `bench exec` what exec costs, `bench near` the same and what is near in a guest with two nodes, `bench containerd`
//! what the hook adds to a container's start, `bench sandbox [UNIT…]` what the sandbox of the agent's unit costs a boot.

mod agent;
mod hook;
mod relay;

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, anyhow};
use dra_guest_tests::bench::{
    AgentBench, ExecBench, HookBench, ManyNics, ManyNicsFigures, RelayBench,
    measure_container_start, measure_hook_load, measure_in_guest, measure_near, measure_nri,
    measure_sandbox,
};
use dra_guest_tests::programs::static_program;
use dra_guest_tests::table::{Table, milliseconds};

/// What can be measured alone.
const PARTS: [&str; 8] = [
    "relay",
    "nri",
    "nics",
    "hook",
    "exec",
    "near",
    "containerd",
    "sandbox",
];

fn main() -> ExitCode {
    // Inside its namespaces, the program gets the directory to work in.
    let outcome = match std::env::args_os().nth(1) {
        Some(part) if part == "relay" => bench_relay(),
        Some(part) if part == "containerd" => bench_containerd(),
        Some(part) if part == "exec" => bench_exec(),
        Some(part) if part == "near" => bench_near(),
        Some(part) if part == "nri" => bench_nri(),
        Some(part) if part == "sandbox" => bench_sandbox(),
        Some(part) if part == "nics" => enter_namespaces(&["nics-within"]),
        Some(part) if part == "nics-within" => std::env::args_os()
            .nth(2)
            .context("no directory")
            .and_then(|directory| bench_nics(Path::new(&directory))),
        Some(part) if part == "hook" => enter_namespaces(&["hook-within"]),
        Some(part) if part == "hook-within" => std::env::args_os()
            .nth(2)
            .context("no directory")
            .and_then(|directory| bench_hook(Path::new(&directory))),
        Some(directory) if Path::new(&directory).is_dir() => bench(Path::new(&directory)),
        Some(part) => Err(anyhow!(
            "there is no part {}: the parts are {}",
            part.display(),
            PARTS.join(", ")
        )),
        // The API server and the relay need no namespaces, and a loopback interface that is up.
        None => enter_namespaces(&[]).and_then(|is_done| {
            Ok(is_done && bench_containerd()? && bench_nri()? && bench_relay()?)
        }),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("the benchmark failed: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Starts itself again where mounts and network interfaces are its own, and removes its directory
/// when these are gone.
fn enter_namespaces(part: &[&str]) -> Result<bool> {
    let directory = tempfile::Builder::new()
        .prefix("dra-guest-bench-")
        .tempdir_in("/tmp")?;
    let status = Command::new("unshare")
        .args(["--mount", "--net", "--propagation=private", "sh", "-c"])
        .arg("mount -t sysfs sysfs /sys && exec \"$@\"")
        .arg("sh")
        .arg(std::env::current_exe()?)
        .args(part)
        .arg(directory.path())
        .status()
        .context("unshare cannot be started")?;
    Ok(status.success())
}

fn bench(directory: &Path) -> Result<bool> {
    eprintln!("building the programs (once) and measuring for a few minutes");
    let sizes = sizes()?;
    bench_hook(directory)?;
    let agent = AgentBench::new(directory)?.measure()?;
    let exec = ExecBench::new(directory)?.measure()?;
    let (few, many) = few_and_many(directory)?;
    let guest = measure_in_guest()?;
    let near = measure_near()?;

    println!("Static release programs\n{sizes}");
    println!(
        "One NIC found by MAC, renamed, MTU and address set, median wall time\n{}",
        agent::agent_table(&agent)
    );
    println!(
        "A static true (C, musl) on the CPUs and memory of one node, median wall time\n{}",
        exec.table()
    );
    println!("{near}");
    println!(
        "System calls of the agent\n{}",
        agent::call_table(&agent, &few)
    );
    println!(
        "Many NICs, each renamed, set up, with an MTU and an address, median wall time; \
         documents of {} and {} bytes\n{}",
        few.document_bytes,
        many.document_bytes,
        agent::many_table(&few, &many)
    );
    println!("In a Debian guest\n{}", agent::guest_table(&guest));
    println!(
        "Memory of the service\n{}",
        agent::memory_table(&few, &many, &guest)?
    );
    Ok(true)
}

fn bench_hook(directory: &Path) -> Result<bool> {
    let hook = HookBench::new(directory)?.measure()?;
    let load = measure_hook_load(directory)?;
    println!(
        "One run of a createContainer hook, median wall time\n{}",
        hook::table(&hook)
    );
    println!("The hook with much to read\n{load}");
    Ok(true)
}

fn bench_containerd() -> Result<bool> {
    eprintln!("starting containers by containerd for a few minutes");
    println!(
        "StartContainer of containerd, by its own log\n{}",
        measure_container_start()?
    );
    Ok(true)
}

fn bench_exec() -> Result<bool> {
    let directory = tempfile::tempdir()?;
    let figures = ExecBench::new(directory.path())?.measure()?;
    println!("{}", figures.table());
    Ok(true)
}

fn bench_near() -> Result<bool> {
    println!("{}", measure_near()?);
    Ok(true)
}

/// The arguments after the first are further files of the unit, to compare with.
fn bench_sandbox() -> Result<bool> {
    let others: Vec<_> = std::env::args_os().skip(2).map(Into::into).collect();
    println!("{}", measure_sandbox(&others)?);
    Ok(true)
}

fn bench_nri() -> Result<bool> {
    println!("{}", measure_nri()?);
    Ok(true)
}

fn few_and_many(directory: &Path) -> Result<(ManyNicsFigures, ManyNicsFigures)> {
    let few = ManyNics::new(directory, 8)?.measure(60)?;
    let many = ManyNics::new(directory, 256)?.measure(6)?;
    Ok((few, many))
}

fn bench_nics(directory: &Path) -> Result<bool> {
    let (few, many) = few_and_many(directory)?;
    println!("{}", agent::many_table(&few, &many));
    println!(
        "System calls: {} for eight NICs, {} again",
        few.calls.total, few.second_calls.total
    );
    Ok(true)
}

fn bench_relay() -> Result<bool> {
    eprintln!("measuring the relay of a node with 250 guests for about a minute");
    let control = RelayBench::control_plane()?;
    let figures = RelayBench::new(&control)?.measure()?;
    println!(
        "The relay with 250 guests: from a report to the condition being readable, in bare server-side applies\n\
         that were made in the same time (\"250 at once\": that waited in the same way, eight at a time)\n{}",
        relay::latency_table(&figures)
    );
    println!(
        "Its requests for claims\n{}",
        relay::request_table(&figures)
    );
    println!(
        "Its time on a processor for each further change: {}\n",
        milliseconds(figures.processor)
    );
    println!(
        "Its memory: {} KiB resident with 250 guests that have reported ({} KiB of its own), {} KiB before the first,\n\
         {} KiB at the most; in {} s with heartbeats alone: {} requests, {} watches begun anew\n",
        figures.memory.resident,
        figures.memory.anonymous,
        figures.memory_before.resident,
        figures.memory_after.peak,
        figures.idle.time.as_secs(),
        figures.idle.requests,
        figures.idle.watches,
    );
    Ok(true)
}

fn sizes() -> Result<Table> {
    let mut table = Table::new(["program", "bytes"]);
    for name in [
        "dra-cdi-hook",
        "dra-guest-nri",
        "dra-guest-agent",
        "dra-guest-relay",
    ] {
        let size = std::fs::metadata(static_program(name)?)?.len();
        table.row([name.to_owned(), size.to_string()]);
    }
    Ok(table)
}
