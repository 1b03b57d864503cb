//! Measures the hook, the NRI plugin, the agent and the relay against their peers, and prints the ratios. `bench relay`
//! and `bench nri` measure one of them alone, `bench nics` the agent with many NICs, `bench hook` the hook,
//! `bench exec` what exec costs, and `bench near` the same and what is near in a guest with two nodes.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context as _, Result};
use dra_guest_tests::bench::{
    AgentBench, AgentFigures, ExecBench, GuestFigures, HookBench, HookFigures, ManyNics,
    ManyNicsFigures, RelayBench, RelayFigures, measure_hook_load, measure_in_guest, measure_near,
    measure_nri,
};
use dra_guest_tests::programs::static_program;
use dra_guest_tests::table::{Table, milliseconds, ratio};

fn main() -> ExitCode {
    // Inside its namespaces, the program gets the directory to work in.
    let outcome = match std::env::args_os().nth(1) {
        Some(part) if part == "relay" => bench_relay(),
        Some(part) if part == "exec" => bench_exec(),
        Some(part) if part == "near" => bench_near(),
        Some(part) if part == "nri" => bench_nri(),
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
        Some(directory) => bench(Path::new(&directory)),
        // The API server and the relay need no namespaces, and a loopback interface that is up.
        None => {
            enter_namespaces(&[]).and_then(|is_done| Ok(is_done && bench_nri()? && bench_relay()?))
        }
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
        agent_table(&agent)
    );
    println!(
        "A static true (C, musl) on the CPUs and memory of one node, median wall time\n{}",
        exec.table()
    );
    println!("{near}");
    println!("System calls of the agent\n{}", call_table(&agent, &few));
    println!(
        "Many NICs, each renamed, set up, with an MTU and an address, median wall time; \
         documents of {} and {} bytes\n{}",
        few.document_bytes,
        many.document_bytes,
        many_table(&few, &many)
    );
    println!("In a Debian guest\n{}", guest_table(&guest));
    println!(
        "Memory of the service\n{}",
        memory_table(&few, &many, &guest)?
    );
    Ok(true)
}

fn bench_hook(directory: &Path) -> Result<bool> {
    let hook = HookBench::new(directory)?.measure()?;
    let load = measure_hook_load(directory)?;
    println!(
        "One run of a createContainer hook, median wall time\n{}",
        hook_table(&hook)
    );
    println!("The hook with much to read\n{load}");
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
    println!("{}", many_table(&few, &many));
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
        latency_table(&figures)
    );
    println!("Its requests for claims\n{}", request_table(&figures));
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

fn latency_table(figures: &RelayFigures) -> Table {
    let mut table = Table::new([
        "reports",
        "bare apply, median",
        "99 %",
        "relay, median",
        "99 %",
        "median to median",
        "99 % to median",
        "99 % to 99 %",
    ]);
    for (name, relay, bare) in &figures.cases {
        let [middle, late] = [relay.percentile(50), relay.percentile(99)];
        let [bare_middle, bare_late] = [bare.percentile(50), bare.percentile(99)];
        table.row([
            (*name).to_owned(),
            milliseconds(bare_middle),
            milliseconds(bare_late),
            milliseconds(middle),
            milliseconds(late),
            ratio(middle, bare_middle),
            ratio(late, bare_middle),
            ratio(late, bare_late),
        ]);
    }
    table
}

fn request_table(figures: &RelayFigures) -> Table {
    let mut table = Table::new(["", "changes", "reads", "applies", "a change", "Events"]);
    for (name, requests) in [
        ("first word of each guest", figures.first),
        ("further changes", figures.further),
    ] {
        let all = requests.reads + requests.applies;
        table.row([
            name.to_owned(),
            requests.changes.to_string(),
            requests.reads.to_string(),
            requests.applies.to_string(),
            format!("{:.2}", f64::from(all) / f64::from(requests.changes)),
            requests.events.to_string(),
        ]);
    }
    table
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

fn hook_table(figures: &HookFigures) -> Table {
    let mut table = Table::new([
        "program",
        "time",
        "to static true (glibc)",
        "(musl)",
        "to nvidia-cdi-hook",
    ]);
    for (name, time) in [
        ("static true (C, glibc)", figures.nothing_glibc),
        ("static true (C, musl)", figures.nothing_musl),
        ("dra-cdi-hook, VM mount in memory", figures.hook),
        ("dra-cdi-hook, VM mount on disk", figures.hook_on_disk),
        ("nvidia-cdi-hook, one link", figures.nvidia),
    ] {
        table.row([
            name.to_owned(),
            milliseconds(time),
            ratio(time, figures.nothing_glibc),
            ratio(time, figures.nothing_musl),
            ratio(time, figures.nvidia),
        ]);
    }
    table
}

fn agent_table(figures: &AgentFigures) -> Table {
    let mut table = Table::new(["program", "time", "to the script"]);
    for (name, time) in [
        ("a script of jq and ip", figures.script),
        ("dra-guest-agent apply", figures.apply),
        ("dra-guest-agent apply, again", figures.second_apply),
    ] {
        table.row([
            name.to_owned(),
            milliseconds(time),
            ratio(time, figures.script),
        ]);
    }
    table
}

fn call_table(figures: &AgentFigures, few: &ManyNicsFigures) -> Table {
    let mut table = Table::new(["", "all", "link changes sent", "most frequent"]);
    for (name, calls) in [
        ("apply of one NIC", &figures.calls),
        ("again", &figures.second_calls),
        ("apply of eight, again", &few.second_calls),
    ] {
        let mut frequent: Vec<_> = calls.by_name.iter().collect();
        frequent.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let frequent: Vec<String> = frequent
            .iter()
            .take(6)
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        table.row([
            name.to_owned(),
            calls.total.to_string(),
            calls.link_changes.to_string(),
            frequent.join(", "),
        ]);
    }
    table
}

type Time = fn(&ManyNicsFigures) -> Duration;

fn many_table(few: &ManyNicsFigures, many: &ManyNicsFigures) -> Table {
    let mut table = Table::new([
        "",
        "8 NICs",
        "to the floor",
        "256 NICs",
        "to the floor",
        "a NIC, to one of 8",
    ]);
    let rows: [(&str, Time); 6] = [
        ("the same changes, nothing else", |figures| figures.floor),
        ("the same messages, looks too", |figures| {
            figures.floor_with_looks
        }),
        ("dra-guest-agent apply", |figures| figures.apply),
        ("of it beyond the floor", |figures| {
            figures.apply.saturating_sub(figures.floor)
        }),
        ("dra-guest-agent apply, again", |figures| {
            figures.second_apply
        }),
        ("dra-guest-agent plan", |figures| figures.plan),
    ];
    for (name, time) in rows {
        let [of_few, of_many] = [few, many].map(time);
        let scale = u32::try_from(many.count / few.count).unwrap_or(u32::MAX);
        table.row([
            name.to_owned(),
            milliseconds(of_few),
            ratio(of_few, few.floor),
            milliseconds(of_many),
            ratio(of_many, many.floor),
            ratio(of_many, of_few * scale),
        ]);
    }
    table
}

fn memory_table(
    few: &ManyNicsFigures,
    many: &ManyNicsFigures,
    guest: &GuestFigures,
) -> Result<Table> {
    let program = std::fs::metadata(static_program("dra-guest-agent")?)?.len() / 1024;
    let mut table = Table::new(["", "peak", "of it its own", "the program"]);
    for (name, memory) in [
        ("8 NICs", few.memory),
        ("256 NICs", many.memory),
        ("1 NIC, in the guest", guest.memory),
    ] {
        table.row([
            name.to_owned(),
            format!("{} KiB", memory.peak),
            format!("{} KiB", memory.own),
            format!("{program} KiB"),
        ]);
    }
    Ok(table)
}

fn guest_table(figures: &GuestFigures) -> Table {
    let mut table = Table::new(["", "dra-guest-agent", "systemd-networkd", "ratio"]);
    for (name, agent, networkd) in [
        (
            "8 NICs: MTU, up, an address (the agent: names too)",
            figures.apply,
            figures.networkd,
        ),
        (
            "a NIC is plugged in, until it has its address",
            figures.hot_plug,
            figures.networkd_hot_plug,
        ),
    ] {
        table.row([
            name.to_owned(),
            milliseconds(agent),
            milliseconds(networkd),
            ratio(agent, networkd),
        ]);
    }
    table
}
