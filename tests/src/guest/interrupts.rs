//! Interrupts of a guest's devices: which CPUs may serve them, and which did.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};

use super::Guest;

/// The interrupts of a PCI function, and the CPUs that may serve each; without those that go while they are looked at,
/// as with other channels all do.
///
/// # Errors
/// When the guest does not say.
pub fn affinities(guest: &mut Guest, function: &str) -> Result<BTreeMap<u32, String>> {
    let listed = guest.stdout_of(&format!(
        "cd /sys/bus/pci/devices/{function} && for i in $(ls msi_irqs); do \
         cpus=$(cat /proc/irq/$i/smp_affinity_list 2>&1) && echo $i $cpus; done; :"
    ))?;
    let lines = listed.lines().map(|line| {
        let (number, cpus) = line.split_once(' ').context("an interrupt without CPUs")?;
        Ok((number.parse()?, cpus.to_owned()))
    });
    lines.collect()
}

/// The PCI function of a NIC.
///
/// # Errors
/// When the guest has no such NIC.
pub fn function_of(guest: &mut Guest, interface: &str) -> Result<String> {
    let path = guest.stdout_of(&format!("readlink -f /sys/class/net/{interface}/device"))?;
    let mut parts = path.trim().rsplit('/');
    let function = parts.find(|part| !part.starts_with("virtio"));
    Ok(function.context("no function")?.to_owned())
}

/// What is enough of them to tell who serves.
const INTERRUPTS: u64 = 100;

/// How many of the interrupts of two NICs on one link CPUs 2 and 3 served, of how many, while a thousand frames went
/// each way: again, until enough interrupts have come. On a busy machine one stands for many frames.
///
/// # Errors
/// When a NIC is not there, or no interrupts come.
pub fn served(guest: &mut Guest, names: [&str; 2]) -> Result<(u64, u64)> {
    let functions = [function_of(guest, names[0])?, function_of(guest, names[1])?];
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
    let send = format!(
        "python3 - <<'END'\n\
         import socket\n\
         ends = [socket.socket(socket.AF_PACKET, socket.SOCK_RAW) for _ in range(2)]\n\
         for end, name in zip(ends, ('{}', '{}')): end.bind((name, 0))\n\
         for number in range(1000):\n\
         \x20   for end in ends: end.send(b'\\xff' * 6 + b'\\x02\\x00\\x00\\x00\\x00\\x01\\x88\\xb5' + bytes(50))\n\
         END",
        names[0], names[1]
    );
    let mut served = [0; 4];
    for _ in 0..20 {
        guest.stdout_of(&send)?;
        let after = count(guest)?;
        for (served, (after, before)) in served.iter_mut().zip(after.iter().zip(before)) {
            *served = after - before;
        }
        let [far, near] = [served[0] + served[1], served[2] + served[3]];
        if far + near > INTERRUPTS {
            return Ok((near, far + near));
        }
    }
    bail!("few interrupts of {names:?}, though frames went: {served:?}")
}
