//! A `/proc` of files. The real one is in `tests/command_line/foes.rs`.

use std::fs::{self, hard_link};

use tempfile::TempDir;

use super::*;

const SOCKETS: &str = "\
sk               Eth Pid        Groups   Rmem     Wmem     Dump  Locks    Drops    Inode
0000000000000001 0   0          00000000 0        0        0     2        0        1
0000000000000002 0   812        00000000 0        0        0     2        0        2
0000000000000003 0   4194304900 00000001 0        0        0     2        0        3
0000000000000004 15  700        00000002 0        0        0     2        0        4
0000000000000005 0   8389508    00000000 0        0        0     2        0        5
0000000000000006 0   7          00000000 0        0        0     2        0        6
";

/// `CapPrm` of root.
const ALL: &str = "000001ffffffffff";

struct Proc(TempDir);

impl Proc {
    fn new() -> Self {
        let proc = Self(TempDir::new().unwrap());
        fs::create_dir(proc.path().join("net")).unwrap();
        fs::write(proc.path().join("net/netlink"), SOCKETS).unwrap();
        proc.process(1, "systemd", "1", ALL, "0::/init.scope");
        proc
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn status(&self, id: u32, status: &str) {
        fs::write(self.path().join(format!("{id}/status")), status).unwrap();
    }

    fn process(&self, id: u32, name: &str, ids: &str, capabilities: &str, groups: &str) {
        let directory = self.path().join(id.to_string());
        fs::create_dir_all(directory.join("net")).unwrap();
        hard_link(
            self.path().join("net/netlink"),
            directory.join("net/netlink"),
        )
        .unwrap();
        fs::write(directory.join("cgroup"), format!("{groups}\n")).unwrap();
        self.status(
            id,
            &format!(
                "Name:\t{name}\nState:\tS (sleeping)\nNStgid:\t{ids}\nVmSize:\t  8 kB\nCapPrm:\t{capabilities}\n"
            ),
        );
    }

    fn holders(&self) -> Vec<String> {
        let mut holders: Vec<String> = Program::holders(self.path(), 5)
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect();
        holders.sort();
        holders
    }
}

#[test]
fn those_are_named_who_hold_a_route_socket_and_may_change_interfaces() {
    let proc = Proc::new();
    assert_eq!(proc.holders(), [""; 0]);
    let service = "0::/system.slice/keepalived.service";
    proc.process(812, "keepalived", "812", ALL, service);
    // One that has a socket of another protocol, one that has none, one that may change nothing, and threads of the kernel.
    proc.process(700, "uevents", "700", ALL, service);
    proc.process(701, "silent", "701", ALL, service);
    proc.process(900, "resolved", "900", "0000000000002400", service);
    proc.process(7, "kworker/0:0", "7", ALL, "0::/");
    proc.status(
        7,
        &format!("Name:\tkworker/0:0\nState:\tI (idle)\nCapPrm:\t{ALL}\n"),
    );
    assert_eq!(proc.holders(), ["keepalived (pid 812, keepalived.service)"]);
    // The agent has the number 5 here, and its port may be anyone's.
    proc.process(5, "dra-guest-agent", "812", ALL, "0::/");
    assert_eq!(proc.holders().len(), 1);
}

#[test]
fn a_port_is_the_id_that_the_process_has_in_its_own_namespace() {
    let proc = Proc::new();
    // 8389508 is 2 * 2^22 + 900, as libnl makes them.
    proc.process(
        4321,
        "bird",
        "4321\t900",
        ALL,
        "0::/kubepods.slice/cri-x.scope/init",
    );
    proc.process(900, "other", "900\t1", ALL, "0::/");
    assert_eq!(proc.holders(), ["bird (pid 4321, cri-x.scope)"]);
    // Without namespaces of process ids the kernel does not say it.
    proc.status(
        900,
        &format!("Name:\told\nVmSize:\t 8 kB\nCapPrm:\t{ALL}\n"),
    );
    assert_eq!(
        proc.holders(),
        ["bird (pid 4321, cri-x.scope)", "old (pid 900)"]
    );
}

#[test]
fn one_of_another_network_namespace_is_not_it() {
    let proc = Proc::new();
    proc.process(812, "bird", "812", ALL, "0::/");
    let own = proc.path().join("812/net/netlink");
    fs::remove_file(&own).unwrap();
    fs::write(&own, SOCKETS).unwrap();
    assert_eq!(proc.holders(), [""; 0]);
    assert_eq!(Program::of_port(proc.path(), 812), None);
    // One that is about to end has none any more, and its name for a moment yet.
    fs::remove_file(&own).unwrap();
    proc.status(
        812,
        &format!("Name:\tip\nState:\tZ (zombie)\nNStgid:\t812\nCapPrm:\t{ALL}\n"),
    );
    let ended = Program::of_port(proc.path(), 812).unwrap();
    assert_eq!(ended.to_string(), "ip (pid 812)");
    assert_eq!(Program::of_port(proc.path(), 813), None);
    // Systemd, where a container's first process is meant.
    assert_eq!(Program::of_port(proc.path(), 1), None);
}

#[test]
fn a_proc_that_hides_processes_says_nothing_of_them() {
    let proc = Proc::new();
    fs::remove_dir_all(proc.path().join("1")).unwrap();
    proc.process(812, "bird", "812", ALL, "0::/");
    assert_eq!(Program::holders(proc.path(), 5), None);
}

#[test]
fn any_bytes_are_read_to_their_bound() {
    let proc = Proc::new();
    proc.process(812, "bird", "812", ALL, "0::/");
    for status in [
        "",
        "Name:",
        "Name:\tx\nCapPrm:\tz\n",
        "\0\0\t\t:\t:\t",
        "CapPrm:\t1000\n",
    ] {
        proc.status(812, status);
        assert_eq!(proc.holders(), [""; 0], "{status:?}");
    }
    let endless = "x".repeat(usize::try_from(2 * FILE_BYTES).unwrap());
    let status = format!("Name:\t{endless}\nVmSize:\t 8 kB\nCapPrm:\t{ALL}\n");
    proc.status(812, &status);
    assert_eq!(proc.holders(), [""; 0]);
    fs::write(proc.path().join("net/netlink"), [0xff; 64]).unwrap();
    assert_eq!(proc.holders(), [""; 0]);
}

#[test]
fn the_unit_is_that_of_systemd_in_every_hierarchy() {
    for (groups, expected) in [
        ("0::/system.slice/a.service", Some("a.service")),
        ("0::/system.slice/a.service/sub", Some("a.service")),
        (
            "0::/user.slice/user@1.service/app.slice/b.service",
            Some("b.service"),
        ),
        (
            "4:memory:/x.service\n1:name=systemd:/system.slice/c.service",
            Some("c.service"),
        ),
        ("0::/user.slice/session-3.scope", Some("session-3.scope")),
        ("4:memory:/x.service", None),
        ("0::/", None),
        ("", None),
    ] {
        assert_eq!(unit(groups).as_deref(), expected, "{groups}");
    }
}
