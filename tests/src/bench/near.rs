//! Near a device in the guest with two nodes: who serves its interrupts and where a command's memory is, before and
//! after; and what a command costs by `exec`, by `numactl` and by `systemd-run`, which do the same.

use std::time::Duration;

use anyhow::Result;
use serde_json::json;

use crate::guest::{
    Guest, Machine, Managed, ManagedOptions, NIC_PCI_ADDRESS, Witness, affinities, function_of,
    served,
};
use crate::table::{Table, milliseconds, ratio};
use crate::wait;
use crate::way::{NIC_MAC, NIC_NAME};

/// A virtio NIC of no node by the guest's kernel; the document knows it to be on node 1.
const PEER_MAC: &str = "02:00:00:00:00:77";
const PEER_NAME: &str = "net2";
/// Longer than the half minute between two looks of the service, on a busy machine too.
const LOOK: Duration = Duration::from_mins(2);
/// How often a command is run in each way.
const ROUNDS: usize = 15;

/// Boots the guest, measures, and gives the tables as text.
///
/// # Errors
/// When it does not come up, or nothing comes near.
pub fn measure_near() -> Result<String> {
    let mut managed = Managed::boot(&ManagedOptions {
        machine: Machine::TwoNodes,
        kernel_options: "",
        name: "bench_near",
        managers: &[],
        additions: &[],
        policy: "[[device]]\nrequired = false\n",
        devices: json!([
            {
                "claim": {"namespace": "default", "name": "vm-nic-7xk2p", "podClaimName": "nic"},
                "request": "vf", "device": "nic",
                "network": {"interfaceName": NIC_NAME, "macAddress": NIC_MAC, "ipAddresses": ["192.0.2.5/24"]}
            },
            {
                "request": "peer", "device": "peer", "guest": {"numaNode": 1},
                "network": {"interfaceName": PEER_NAME, "macAddress": PEER_MAC}
            }
        ]),
        hardware: &format!(
            "-netdev hubport,id=peer,hubid=1 \
             -device virtio-net-pci,bus=pcie.0,netdev=peer,mac={PEER_MAC},mq=on,vectors=6"
        ),
    })?;
    managed.wait_for("nic", "Configured")?;
    managed.wait_for("peer", "Configured")?;
    let guest = &mut managed.guest;
    let commands = commands(guest)?;
    let pages = pages(guest)?;
    let interrupts = interrupts(guest)?;
    Ok(format!(
        "Share on the device's node\n{}\nA command near a device, in that guest, median wall time\n{}",
        shares(interrupts, pages),
        costs(&commands)?
    ))
}

/// Hundredths of the interrupts that node 1 serves, where the kernel put them on node 0, and with `irq = "spread"`.
fn interrupts(guest: &mut Guest) -> Result<[u64; 2]> {
    let names = [NIC_NAME, PEER_NAME];
    let peer = function_of(guest, PEER_NAME)?;
    guest.stdout_of(&format!(
        "for i in $(ls /sys/bus/pci/devices/{peer}/msi_irqs); do echo 0-1 >/proc/irq/$i/smp_affinity_list; done"
    ))?;
    let share = |guest: &mut Guest| -> Result<u64> {
        // The kernel moves an interrupt with the next that comes.
        served(guest, names)?;
        let (near, all) = served(guest, names)?;
        Ok(near * 100 / all)
    };
    let before = share(guest)?;
    guest.stdout_of(
        "mkdir -p /etc/dra-guest/agent.d && echo '[[device]]\nirq = \"spread\"' >/etc/dra-guest/agent.d/50-near.toml && \
         systemctl reload dra-guest-agent.service",
    )?;
    wait::until("the interrupts are near", LOOK, || {
        for function in [NIC_PCI_ADDRESS, &peer] {
            let cpus = affinities(guest, function)?;
            if cpus.values().any(|cpus| cpus != "2" && cpus != "3") {
                return Ok(None);
            }
        }
        Ok(Some(()))
    })?;
    Ok([before, share(guest)?])
}

/// Hundredths of a shell's pages that are on node 1: beside the other node, and by `exec`.
fn pages(guest: &mut Guest) -> Result<[u64; 2]> {
    let mut share = |before: &str| -> Result<u64> {
        let [far, near] = Witness::of(guest, before)?.pages;
        Ok(near * 100 / (far + near))
    };
    Ok([
        share("taskset --cpu-list 0-1")?,
        share("dra-guest-agent exec --device nic/vf --")?,
    ])
}

fn shares(interrupts: [u64; 2], pages: [u64; 2]) -> Table {
    let mut table = Table::new(["", "before", "after"]);
    for (name, [before, after]) in [
        ("interrupts served on it", interrupts),
        ("a shell's pages on it", pages),
    ] {
        table.row([name.to_owned(), format!("{before} %"), format!("{after} %")]);
    }
    table
}

const WAYS: [(&str, &str); 4] = [
    ("bare", ""),
    (
        "dra-guest-agent exec",
        "dra-guest-agent exec --device nic/vf --memory bind --",
    ),
    ("numactl", "numactl --cpunodebind=1 --membind=1"),
    (
        "systemd-run --wait",
        "systemd-run --quiet --wait --collect --property=CPUAffinity=2-3 --property=NUMAPolicy=bind --property=NUMAMask=1",
    ),
];

/// Median times of `true`, in turn.
fn commands(guest: &mut Guest) -> Result<Vec<Duration>> {
    let ways: Vec<Vec<&str>> = WAYS
        .iter()
        .map(|(_, way)| way.split_whitespace().chain(["/bin/true"]).collect())
        .collect();
    let said = guest.stdout_of(&format!(
        "python3 - <<'END'\n\
         import os, statistics, time\n\
         ways = {}\n\
         times = [[] for _ in ways]\n\
         for number in range({ROUNDS} + 1):\n\
         \x20   for way, measured in zip(ways, times):\n\
         \x20       begin = time.perf_counter_ns()\n\
         \x20       pid = os.posix_spawnp(way[0], way, os.environ)\n\
         \x20       if os.waitpid(pid, 0)[1]: raise SystemExit(f'{{way}} fails')\n\
         \x20       if number: measured.append(time.perf_counter_ns() - begin)\n\
         for measured in times: print(int(statistics.median(measured)))\n\
         END",
        json!(ways)
    ))?;
    said.lines()
        .map(|line| Ok(Duration::from_nanos(line.parse()?)))
        .collect()
}

fn costs(times: &[Duration]) -> Result<Table> {
    let [bare, _, numactl, _] = times else {
        anyhow::bail!("not four times: {times:?}");
    };
    let more = |time: Duration| time.saturating_sub(*bare);
    let mut table = Table::new(["program", "time", "more than bare", "to numactl's"]);
    for ((name, _), time) in WAYS.iter().zip(times) {
        table.row([
            (*name).to_owned(),
            milliseconds(*time),
            milliseconds(more(*time)),
            ratio(more(*time), more(*numactl)),
        ]);
    }
    Ok(table)
}
