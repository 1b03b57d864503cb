//! Interrupts near their devices, with the kernel's word for who serves them.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use dra_guest_tests::guest::pinning::{
    LOOK, POLICY, pinning, wait_for, wait_until_near, wait_until_spread,
};
use dra_guest_tests::guest::{Managed, NIC_PCI_ADDRESS, affinities, function_of, served};
use dra_guest_tests::wait;
use dra_guest_tests::way::NIC_NAME;

use crate::pinning::{FAR, NEAR};
use crate::{NVME_PCI_ADDRESS, PEER_NAME};

/// The ends of the link.
const NICS: [&str; 2] = [NIC_NAME, PEER_NAME];

/// The virtio NIC is of no node by the guest's kernel, as most are; the document knows it.
pub(crate) fn are_served_near(managed: &mut Managed) -> Result<()> {
    let guest = &mut managed.guest;
    let peer = function_of(guest, PEER_NAME)?;
    // As they may come: where the kernel puts the interrupts of a device of no node is chance.
    guest.stdout_of(&format!(
        "for i in $(ls /sys/bus/pci/devices/{peer}/msi_irqs); do \
         echo {FAR} >/proc/irq/$i/smp_affinity_list; done"
    ))?;
    let (near, all) = served(guest, NICS)?;
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
    served(guest, NICS)?;
    let (near, all) = served(guest, NICS)?;
    eprintln!(
        "share of interrupts on the node: {before} % before, {} % of {all} after",
        near * 100 / all
    );
    ensure!(near == all, "{near} of {all} were served near");

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

/// Killed at any moment of pinning, it has written down before each step what it was about to change.
pub(crate) fn revert_after_kills(managed: &mut Managed) -> Result<()> {
    let guest = &mut managed.guest;
    // By the function, whatever its interface is called; interrupts have new numbers with other channels.
    let state = format!(
        "cd /sys/bus/pci/devices/{NIC_PCI_ADDRESS}; ls net/*/queues; cat net/*/queues/*/?ps_cpus | sort -u; \
         for i in msi_irqs/*; do cat /proc/irq/${{i#*/}}/smp_affinity_list; done"
    );
    guest.stdout_of(
        "cp /run/credentials/dra-guest-agent.service/device-attributes /run/; \
         systemctl stop dra-guest-agent.service; dra-guest-agent revert",
    )?;
    let before = guest.stdout_of(&state)?;
    guest.stdout_of(&format!(
        "echo '[[device]]\nrequest = \"vf\"\nirq = \"spread\"\nqueues = \"node\"\nxps = true\nrps = true' >{POLICY}"
    ))?;
    let apply = "dra-guest-agent apply --attributes /run/device-attributes";
    guest.stdout_of(&format!(
        "for after in 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1.0 1.2 1.4; do \
         timeout --signal=KILL $after {apply} >/dev/null 2>&1; done; :"
    ))?;
    let whole = guest.run(apply)?;
    ensure!(whole.stdout.contains("net1"), "{whole:?}");
    let pinned = guest.stdout_of(&state)?;
    ensure!(pinned != before, "nothing was pinned: {pinned}");
    let said = guest.stdout_of("dra-guest-agent revert")?;
    let after = guest.stdout_of(&state)?;
    ensure!(before == after, "{before}\n{after}\n{said}");
    guest.stdout_of(&format!(
        "rm {POLICY} && systemctl start dra-guest-agent.service"
    ))?;
    wait_for(managed, "nic", "Configured").map(drop)
}
