//! Interrupts and queues near their devices, with the kernel's word for who serves them.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use dra_guest_tests::guest::{Guest, Managed, NIC_PCI_ADDRESS};
use dra_guest_tests::wait;
use dra_guest_tests::way::NIC_NAME;
use serde_json::{Value, json};

use crate::{EMPTY_NETDEV, EMPTY_PORT, LATE_MAC, LATE_PCI_ADDRESS, NVME_PCI_ADDRESS, PEER_NAME};

const POLICY: &str = "/etc/dra-guest/agent.d/50-pinning.toml";
/// Longer than the half minute between two looks of the service, on a busy machine too.
const LOOK: Duration = Duration::from_mins(2);
/// The CPUs of the node that the devices are on.
const NEAR: [&str; 2] = ["2", "3"];
/// Those of the other.
const FAR: &str = "0-1";

/// Has the service follow a policy.
fn follow(guest: &mut Guest, policy: &str) -> Result<()> {
    guest.stdout_of(&format!(
        "mkdir -p /etc/dra-guest/agent.d && cat >{POLICY} <<'END'\n{policy}END\n\
         dra-guest-agent validate {POLICY} && systemctl reload dra-guest-agent.service"
    ))?;
    Ok(())
}

/// The interrupts of a PCI function, and the CPUs that may serve each.
fn affinities(guest: &mut Guest, function: &str) -> Result<BTreeMap<u32, String>> {
    let listed = guest.stdout_of(&format!(
        "cd /sys/bus/pci/devices/{function}/msi_irqs && for i in *; do \
         echo $i $(cat /proc/irq/$i/smp_affinity_list); done"
    ))?;
    let lines = listed.lines().map(|line| {
        let (number, cpus) = line.split_once(' ').context("an interrupt without CPUs")?;
        Ok((number.parse()?, cpus.to_owned()))
    });
    lines.collect()
}

/// Waits until each of a function's interrupts is served by one of these CPUs, and each of them serves.
fn wait_until_spread(guest: &mut Guest, function: &str, cpus: &[&str]) -> Result<()> {
    wait_until_near(guest, function, cpus, true)
}

fn wait_until_near(guest: &mut Guest, function: &str, cpus: &[&str], all: bool) -> Result<()> {
    let mut last = BTreeMap::new();
    let came = wait::until("the interrupts are near", LOOK, || {
        last = affinities(guest, function)?;
        let are_near = last.values().all(|served| cpus.contains(&served.as_str()));
        let are_used = cpus
            .iter()
            .all(|cpu| last.values().any(|served| served == cpu));
        Ok((are_near && (are_used || !all)).then_some(()))
    });
    came.with_context(|| format!("{function}: {last:?}"))
}

/// The PCI function of a NIC.
fn function_of(guest: &mut Guest, interface: &str) -> Result<String> {
    let path = guest.stdout_of(&format!("readlink -f /sys/class/net/{interface}/device"))?;
    let mut parts = path.trim().rsplit('/');
    let function = parts.find(|part| !part.starts_with("virtio"));
    Ok(function.context("no function")?.to_owned())
}

/// The device's part of the status.
fn pinning(managed: &mut Managed, device: &str) -> Result<Value> {
    Ok(managed.device(device)?["pinning"].clone())
}

/// Waits until a device's report says `reason`.
fn wait_for(managed: &mut Managed, name: &str, reason: &str) -> Result<Value> {
    let mut last = Value::Null;
    let came = wait::until(&format!("{name} becomes {reason}"), LOOK, || {
        last = managed.device(name)?;
        Ok((last["reason"] == reason).then_some(()))
    });
    came.with_context(|| last.to_string())?;
    Ok(last)
}

/// How many of the interrupts of both NICs on the link the near CPUs served, of how many, while some
/// thousand frames went each way.
fn served(guest: &mut Guest) -> Result<(u64, u64)> {
    let functions = [NIC_PCI_ADDRESS.to_owned(), function_of(guest, PEER_NAME)?];
    let count = |guest: &mut Guest| -> Result<[u64; 4]> {
        let table = guest.stdout_of("cat /proc/interrupts")?;
        let mut sum = [0; 4];
        for line in table.lines() {
            let is_ours = functions.iter().any(|it| line.contains(&format!("-{it} ")));
            if is_ours {
                let counts = line.split_whitespace().skip(1);
                for (sum, count) in sum.iter_mut().zip(counts) {
                    *sum += count.parse::<u64>()?;
                }
            }
        }
        Ok(sum)
    };
    let before = count(guest)?;
    guest.stdout_of(&format!(
        "python3 - <<'END'\n\
         import socket\n\
         ends = [socket.socket(socket.AF_PACKET, socket.SOCK_RAW) for _ in range(2)]\n\
         for end, name in zip(ends, ('{NIC_NAME}', '{PEER_NAME}')): end.bind((name, 0))\n\
         for number in range(1000):\n\
         \x20   for end in ends: end.send(b'\\xff' * 6 + b'\\x02\\x00\\x00\\x00\\x00\\x01\\x88\\xb5' + bytes(50))\n\
         END"
    ))?;
    let after = count(guest)?;
    let counts: Vec<u64> = after.iter().zip(before).map(|(a, b)| a - b).collect();
    let [a, b, c, d] = counts[..] else {
        bail!("not four CPUs");
    };
    Ok((c + d, a + b + c + d))
}

/// The virtio NIC is of no node by the guest's kernel, as most are; the document knows it.
pub(crate) fn are_served_near(managed: &mut Managed) -> Result<()> {
    let guest = &mut managed.guest;
    let peer = function_of(guest, PEER_NAME)?;
    // As they may come: where the kernel puts the interrupts of a device of no node is chance.
    guest.stdout_of(&format!(
        "for i in $(ls /sys/bus/pci/devices/{peer}/msi_irqs); do \
         echo {FAR} >/proc/irq/$i/smp_affinity_list; done"
    ))?;
    let (near, all) = served(guest)?;
    ensure!(all > 100, "no interrupts: {all}");
    let before = near * 100 / all;
    ensure!(
        before < 100,
        "all were served near already: {near} of {all}"
    );

    guest.stdout_of(&format!(
        "mkdir -p /etc/dra-guest/agent.d && echo '[[device]]\nirq = \"spread\"' >{POLICY}"
    ))?;
    let planned = guest.run("dra-guest-agent plan --attributes /run/credentials/dra-guest-agent.service/device-attributes")?;
    for words in [
        format!("of {PEER_NAME} from "),
        "near it: CPUs 2-3 of NUMA node 1, by the attributes' guest.numaNode (/etc/dra-guest/agent.d/50-pinning.toml:2:1)".to_owned(),
        "near it: CPUs 2-3 of NUMA node 1, by sysfs".to_owned(),
    ] {
        ensure!(planned.stdout.contains(&words), "{words} is not in {planned:?}");
    }
    guest.stdout_of("systemctl reload dra-guest-agent.service")?;
    wait_until_spread(guest, NIC_PCI_ADDRESS, &NEAR)?;
    // One queue, so one CPU.
    wait_until_near(guest, &peer, &NEAR, false)?;
    // The first of each that comes after the change may still come to the CPU of before.
    served(guest)?;
    let (near, all) = served(guest)?;
    eprintln!(
        "share of interrupts on the node: {before} % before, {} % after",
        near * 100 / all
    );
    ensure!(near == all && all > 100, "{near} of {all} were served near");

    let now = pinning(managed, "nic")?;
    ensure!(now["cpus"] == "2-3", "{now}");
    for interrupt in now["interrupts"].as_array().context("no interrupts")? {
        ensure!(interrupt["wanted"] == interrupt["cpus"], "{now}");
        // The kernel moves an interrupt with the next that comes: until then another near CPU has it.
        let serving = interrupt["serving"].as_str().unwrap_or_default();
        ensure!(NEAR.contains(&serving), "{now}");
    }
    ensure!(now.get("contested").is_none(), "{now}");
    Ok(())
}

/// An `NVMe` disk: the kernel manages the interrupts of its queues.
pub(crate) fn managed_are_left(managed: &mut Managed) -> Result<()> {
    let interrupts = affinities(&mut managed.guest, NVME_PCI_ADDRESS)?;
    let cpus: Vec<&str> = interrupts.values().map(String::as_str).collect();
    ensure!(NEAR.contains(&cpus[0]), "{interrupts:?}");
    ensure!(
        cpus[1..].iter().any(|cpu| !NEAR.contains(cpu)),
        "{interrupts:?}"
    );
    let report = wait_for(managed, "nvme", "Configured")?;
    let left = report["pinning"]["left"][0].as_str().unwrap_or_default();
    ensure!(
        left.ends_with("the kernel manages them, one for each CPU"),
        "{report}"
    );
    ensure!(
        report["ready"] == true && report["numaNode"] == 1,
        "{report}"
    );
    Ok(())
}

pub(crate) fn irqbalance(managed: &mut Managed) -> Result<()> {
    let before = affinities(&mut managed.guest, NIC_PCI_ADDRESS)?;
    for verb in ["start", "restart"] {
        managed
            .guest
            .stdout_of(&format!("systemctl {verb} irqbalance.service"))?;
        wait::until("irqbalance is told", LOOK, || {
            // Its socket is there a moment after it was started.
            let banned = managed.guest.run(
                "python3 - <<'END'\n\
                 import glob, socket\n\
                 s = socket.socket(socket.AF_UNIX)\n\
                 s.connect(glob.glob('/run/irqbalance/*.sock')[0])\n\
                 s.sendall(b'setup\\0')\n\
                 print(s.makefile().read())\n\
                 END",
            )?;
            let is_told = before
                .keys()
                .all(|it| banned.stdout.contains(&format!("IRQ {it} LOAD")));
            Ok(is_told.then_some(()))
        })?;
    }
    // Two of its rounds.
    std::thread::sleep(Duration::from_secs(25));
    wait_until_spread(&mut managed.guest, NIC_PCI_ADDRESS, &NEAR)?;
    managed
        .guest
        .stdout_of("systemctl stop irqbalance.service")?;
    Ok(())
}

pub(crate) fn contested(managed: &mut Managed) -> Result<()> {
    let interrupts = affinities(&mut managed.guest, NIC_PCI_ADDRESS)?;
    let number = interrupts.keys().next_back().context("no interrupt")?;
    let times = |managed: &mut Managed| -> Result<u64> {
        let contested = &pinning(managed, "nic")?["contested"];
        Ok(contested["times"].as_u64().unwrap_or_default())
    };
    let before = times(managed)?;
    managed
        .guest
        .stdout_of(&format!("echo 0 >/proc/irq/{number}/smp_affinity_list"))?;
    wait_until_spread(&mut managed.guest, NIC_PCI_ADDRESS, &NEAR)?;
    wait::until("it is told", LOOK, || {
        Ok((times(managed)? > before).then_some(()))
    })
}

pub(crate) fn cpus_come_and_go(managed: &mut Managed) -> Result<()> {
    let cpu3 = "/sys/devices/system/cpu/cpu3/online";
    managed.guest.stdout_of(&format!("echo 0 >{cpu3}"))?;
    let gone = wait_until_spread(&mut managed.guest, NIC_PCI_ADDRESS, &NEAR[..1]);
    managed.guest.stdout_of(&format!("echo 1 >{cpu3}"))?;
    gone?;
    wait_until_spread(&mut managed.guest, NIC_PCI_ADDRESS, &NEAR)
}

pub(crate) fn plugged_in(managed: &mut Managed) -> Result<()> {
    let plug = json!({"execute": "device_add", "arguments": {
        "driver": "igb", "id": "late-nic", "bus": EMPTY_PORT, "netdev": EMPTY_NETDEV, "mac": LATE_MAC,
    }});
    managed.guest.tell_qemu(&plug)?;
    wait_for(managed, "late", "Configured")?;
    wait_until_spread(&mut managed.guest, LATE_PCI_ADDRESS, &NEAR)?;
    let unplug = json!({"execute": "device_del", "arguments": {"id": "late-nic"}});
    managed.guest.tell_qemu(&unplug)?;
    wait_for(managed, "late", "DeviceNotFound")?;
    Ok(())
}

pub(crate) fn queues(managed: &mut Managed) -> Result<()> {
    follow(
        &mut managed.guest,
        "[[device]]\nrequest = \"vf\"\nirq = \"spread\"\nqueues = \"node\"\nxps = true\nrps = true\n\
         rfs = 1024\n",
    )?;
    let report = wait_for(managed, "nic", "ConfigurationFailed")?;
    let message = report["message"].as_str().unwrap_or_default();
    ensure!(
        message.contains("net.core.rps_sock_flow_entries is 0"),
        "{report}"
    );
    managed
        .guest
        .stdout_of("echo 32768 >/proc/sys/net/core/rps_sock_flow_entries")?;
    wait_for(managed, "nic", "Configured")?;
    let directory = format!("/sys/class/net/{NIC_NAME}/queues");
    for (command, expected) in [
        (
            format!("ls {directory} | tr '\\n' ' '"),
            "rx-0 rx-1 tx-0 tx-1",
        ),
        (
            format!("sort {directory}/tx-*/xps_cpus | tr '\\n' ' '"),
            "4 8",
        ),
        (
            format!("cat {directory}/rx-*/rps_cpus | tr '\\n' ' '"),
            "c c",
        ),
        (
            format!("cat {directory}/rx-*/rps_flow_cnt | tr '\\n' ' '"),
            "1024 1024",
        ),
    ] {
        let said = managed.guest.stdout_of(&command)?;
        ensure!(said.trim() == expected, "{command}: {said}");
    }
    wait_until_spread(&mut managed.guest, NIC_PCI_ADDRESS, &NEAR)?;
    // The policy speaks of this device alone now.
    let peer = function_of(&mut managed.guest, PEER_NAME)?;
    let free = affinities(&mut managed.guest, &peer)?;
    ensure!(free.values().all(|cpus| cpus == FAR), "{free:?}");
    // The link comes back, and the address never went.
    let shown = managed
        .guest
        .stdout_of(&format!("ip address show dev {NIC_NAME}"))?;
    ensure!(
        shown.contains("192.0.2.5/24") && shown.contains(",UP"),
        "{shown}"
    );
    Ok(())
}

pub(crate) fn no_more(managed: &mut Managed) -> Result<()> {
    follow(
        &mut managed.guest,
        "[[device]]\nrequest = \"vf\"\nirq = \"spread\"\n",
    )?;
    let directory = format!("/sys/class/net/{NIC_NAME}/queues");
    wait::until("the queues are as before", LOOK, || {
        let shown = managed.guest.stdout_of(&format!(
            "ls {directory} | wc -l; cat {directory}/rx-*/rps_cpus {directory}/tx-*/xps_cpus {directory}/rx-*/rps_flow_cnt | sort -u"
        ))?;
        Ok((shown == "8\n0\n").then_some(()))
    })?;
    wait_until_spread(&mut managed.guest, NIC_PCI_ADDRESS, &NEAR)
}

/// The last one: without pins from then on.
pub(crate) fn revert(managed: &mut Managed) -> Result<()> {
    let guest = &mut managed.guest;
    guest.stdout_of("systemctl stop dra-guest-agent.service")?;
    let said = guest.stdout_of("dra-guest-agent revert")?;
    ensure!(said.contains("set the CPUs of interrupt"), "{said}");
    // As the kernel places interrupts of a device whose node it knows.
    let masks = affinities(guest, NIC_PCI_ADDRESS)?;
    ensure!(
        masks.values().all(|cpus| cpus == "2-3"),
        "{masks:?}\n{said}"
    );
    guest.stdout_of(&format!(
        "rm {POLICY} && systemctl start dra-guest-agent.service"
    ))?;
    wait_for(managed, "nic", "Configured")?;
    let masks = affinities(&mut managed.guest, NIC_PCI_ADDRESS)?;
    ensure!(masks.values().all(|cpus| cpus == "2-3"), "{masks:?}");
    Ok(())
}
