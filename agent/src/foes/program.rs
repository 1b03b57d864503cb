//! A program that runs, by what `/proc` shows to everybody.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// As many processes are looked at.
const PROCESSES: usize = 8192;
/// As many where there is little time.
const QUICK: usize = 64;
/// The most that is read of `/proc/net/netlink`, which has 100 bytes for each socket.
const SOCKETS_BYTES: u64 = 1 << 20;
/// The most that is read of a file of a process. `status` has some 1500 bytes.
const FILE_BYTES: u64 = 16 << 10;

/// Above every process id (`PID_MAX_LIMIT` of `include/linux/threads.h`).
const IDS: u32 = 1 << 22;
/// The bit of `CAP_NET_ADMIN`, without which nobody changes an interface.
const CAP_NET_ADMIN: u64 = 1 << 12;

/// They hold a socket while they answer what another has begun, and change nothing by themselves.
const ANSWERING: [&str; 3] = ["systemd", "systemd-udevd", "(udev-worker)"];

/// A program that runs and may change interfaces of the agent's network namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Program {
    name: String,
    id: u32,
    /// The unit of systemd that it is part of.
    unit: Option<String>,
}

impl fmt::Display for Program {
    /// As in `keepalived (pid 812, keepalived.service)`. The names are others'.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (pid {}", Plain(&self.name), self.id)?;
        if let Some(unit) = &self.unit {
            write!(f, ", {}", Plain(unit))?;
        }
        f.write_str(")")
    }
}

impl Program {
    /// The program whose process id a netlink port has for its number; none when it has ended, or is known not to be it.
    pub(super) fn of_port(proc: &Path, port: u32) -> Option<Self> {
        let id = process_of(port);
        Self::read(proc, id, |own| own == id)
    }

    /// The programs that hold a socket of `NETLINK_ROUTE` in the agent's network namespace, and may change interfaces
    /// by it, but for the process `agent`; none when `/proc` does not show the processes of others.
    pub(super) fn holders(proc: &Path, agent: u32) -> Option<Vec<Self>> {
        // The first process is always there.
        read(&proc.join("1/status"), FILE_BYTES)?;
        let ids = holding(&read(&proc.join("net/netlink"), SOCKETS_BYTES)?);
        let entries = proc.read_dir().ok()?.flatten();
        let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let others = processes.take(PROCESSES).filter(|id| *id != agent);
        let holders = others.filter_map(|id| Self::read(proc, id, |own| ids.contains(&own)));
        Some(holders.collect())
    }

    /// Those of them that are found by their ports alone, before they end; not those of containers.
    pub(super) fn quick_holders(proc: &Path, agent: u32) -> Vec<Self> {
        let sockets = read(&proc.join("net/netlink"), SOCKETS_BYTES).unwrap_or_default();
        // Those that began last have the greatest ids.
        let ids = holding(&sockets).into_iter().rev().take(QUICK);
        let others = ids.filter(|id| *id != agent);
        others.filter_map(|id| Self::of_port(proc, id)).collect()
    }

    /// Whether both go by one name in one unit.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        (&self.name, &self.unit) == (&other.name, &other.unit)
    }

    /// The process `id`, if it may be the one that calls itself by an id that is `meant`. In a container it may be
    /// another than here.
    fn read(proc: &Path, id: u32, meant: impl Fn(u32) -> bool) -> Option<Self> {
        let directory = proc.join(id.to_string());
        let status = read(&directory.join("status"), FILE_BYTES)?;
        let status: BTreeMap<&str, &str> = (status.lines())
            .filter_map(|line| line.split_once(":\t"))
            .collect();
        // Of a kernel without namespaces of process ids there is no such line.
        let own = status
            .get("NStgid")
            .and_then(|ids| ids.split('\t').next_back()?.parse().ok());
        let capabilities = u64::from_str_radix(status.get("CapPrm")?, 16).ok()?;
        let name = *status.get("Name")?;
        if !meant(own.unwrap_or(id))
            || capabilities & CAP_NET_ADMIN == 0
            || ANSWERING.contains(&name)
            || !is_program(&status)
        {
            return None;
        }
        // One that is ending has none any more.
        let namespace = network_namespace(&directory);
        if namespace.is_some() && namespace != network_namespace(proc) {
            return None;
        }
        Some(Self {
            name: name.to_owned(),
            id,
            unit: read(&directory.join("cgroup"), FILE_BYTES).and_then(|groups| unit(&groups)),
        })
    }
}

/// The process that a port is named after. The kernel gives the first socket of a process its id (`netlink_autobind` in
/// `net/netlink/af_netlink.c`), and further ones random numbers; libnl and pyroute2 put a count above the id's 22 bits.
fn process_of(port: u32) -> u32 {
    port % IDS
}

/// The processes that the sockets of `NETLINK_ROUTE`, which is protocol 0, are named after. The kernel's own has port 0.
fn holding(sockets: &str) -> BTreeSet<u32> {
    let sockets = sockets.lines().filter_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        (words.next()? == "0").then(|| words.next()?.parse().ok().map(process_of))?
    });
    sockets.filter(|id| *id != 0).collect()
}

/// Whether it is no thread of the kernel, which has no memory of its own. Kernels before 6.8 do not say it, and one that
/// has ended has none either.
fn is_program(status: &BTreeMap<&str, &str>) -> bool {
    let has_ended = status
        .get("State")
        .is_some_and(|state| state.starts_with('Z'));
    status.contains_key("VmSize") || status.get("Kthread") == Some(&"0") || has_ended
}

/// What tells network namespaces apart without a right to look into the process: each has files of its own in `/proc`.
fn network_namespace(directory: &Path) -> Option<(u64, u64)> {
    let file = directory.join("net/netlink").metadata().ok()?;
    Some((file.dev(), file.ino()))
}

/// The innermost service or scope, of the unified hierarchy or of systemd's own.
fn unit(groups: &str) -> Option<String> {
    groups.lines().find_map(|line| {
        let path = line
            .strip_prefix("0::")
            .or_else(|| line.split_once(":name=systemd:").map(|(_, path)| path))?;
        let is_unit = |name: &&str| matches!(name.rsplit_once('.'), Some((_, "service" | "scope")));
        let unit = path.rsplit('/').find(is_unit)?;
        Some(unit.to_owned())
    })
}

/// A file of `/proc`, which gives less than is asked for before its end; none when it is not there, or not for us.
fn read(path: &Path, most: u64) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path)
        .ok()?
        .take(most)
        .read_to_end(&mut bytes)
        .ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// A name that anybody may choose, as a terminal and a log may have it.
struct Plain<'a>(&'a str);

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            ' '..='~' => write!(f, "{c}"),
            other => write!(f, "{}", other.escape_default()),
        })
    }
}

#[cfg(test)]
mod tests;
