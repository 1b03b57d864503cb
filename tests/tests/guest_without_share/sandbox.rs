//! What the unit of the agent refuses: it has few words for that, since each costs time before the network.

use anyhow::{Result, ensure};

use crate::Lonely;

/// What root may do, each of which a word of systemd's refuses that the unit does not have, or a wider one that it has.
const ATTEMPTS: [&str; 14] = [
    // ProtectClock
    "date --set=now",
    // ProtectHostname
    "python3 -c 'import socket; socket.sethostname(socket.gethostname())'",
    // ProtectKernelModules
    "modprobe dummy && modprobe --remove dummy",
    // ProtectKernelLogs
    "dmesg --level=emerg",
    "dd if=/dev/kmsg bs=8192 count=1",
    // RestrictRealtime
    "chrt --fifo 1 true",
    // ProtectControlGroups
    "echo +memory >/sys/fs/cgroup/cgroup.subtree_control",
    // ProtectKernelTunables
    "echo 1 >/proc/sys/kernel/sysrq",
    "echo Y >/sys/module/printk/parameters/console_suspend",
    "head -c 1 /proc/kcore",
    // ProtectSystem, ProtectHome
    "touch /usr/attempt && rm /usr/attempt",
    "ls /root",
    // RestrictNamespaces, and one of CAP_SYS_ADMIN
    "unshare --user true",
    "mount -t tmpfs attempt /mnt && umount /mnt",
];

/// What the agent does for a policy, below `/sys/devices` and `/proc`: the sandbox leaves it.
const NEEDED: [&str; 3] = [
    "echo 1 >/sys/class/net/lo/queues/rx-0/rps_cpus",
    "echo 1 >/proc/sys/net/ipv4/conf/lo/arp_ignore",
    "cat /proc/irq/default_smp_affinity >/proc/irq/default_smp_affinity",
];

pub(crate) fn refuses(lonely: &mut Lonely) -> Result<()> {
    let attempts: Vec<String> = ATTEMPTS
        .iter()
        .chain(&NEEDED)
        .enumerate()
        .map(|(number, attempt)| {
            format!("if ( {attempt} ) >/dev/null 2>&1; then echo {number}; fi")
        })
        .collect();
    lonely.guest.stdout_of(&format!(
        "cat >/run/attempts <<'END'\n{}\nEND",
        attempts.join("\n")
    ))?;
    let numbers = |from: usize| -> Vec<String> {
        (from..ATTEMPTS.len() + NEEDED.len())
            .map(|number| number.to_string())
            .collect()
    };
    let allowed = lonely.guest.stdout_of("sh /run/attempts")?;
    ensure!(
        allowed.lines().eq(numbers(0).iter()),
        "outside of the sandbox these alone are possible: {allowed}"
    );
    let allowed = lonely.guest.stdout_of(
        "sed -e 's/^Type=.*/Type=oneshot/' -e 's|^ExecStart=.*|ExecStart=/bin/sh -c \"sh /run/attempts >/run/dra-guest/allowed\"|' \
         -e '/^\\(Wants\\|After\\|Before\\|Conflicts\\|Restart.*\\|ExecReload\\)=/d' \
         /usr/lib/systemd/system/dra-guest-agent.service >/run/systemd/system/attempts.service && \
         systemctl daemon-reload && systemctl start attempts.service && \
         cat /run/dra-guest/allowed && rm /run/dra-guest/allowed",
    )?;
    ensure!(
        allowed.lines().eq(numbers(ATTEMPTS.len()).iter()),
        "in the sandbox these are possible, of which the last {} are to be: {allowed}",
        NEEDED.len()
    );
    Ok(())
}
