//! Whom the service names when somebody undoes its work.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::mount::{MsFlags, mount};
use serde_json::json;

use crate::guest::{Guest, device, wait_for};
use crate::namespace::{in_namespace, veth};
use crate::service::{Service, is_ready};

/// A program that runs on and changes interfaces by a netlink socket of its own, as it is told: `ip -batch`, under
/// another name.
struct Foe(Child);

impl Foe {
    fn start(guest: &Guest, name: &[u8], by: &[&str]) -> Self {
        let program = installed(&guest.path("run"), name);
        let words: Vec<&OsStr> = by
            .iter()
            .map(OsStr::new)
            .chain([program.as_os_str()])
            .collect();
        let child = Command::new(words[0])
            .args(&words[1..])
            .args(["-force", "-batch", "-"])
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        Self(child.unwrap())
    }

    fn undo(&mut self, how: &str) {
        let stdin = self.0.stdin.as_mut().unwrap();
        stdin.write_all(format!("{how}\n").as_bytes()).unwrap();
    }
}

impl Drop for Foe {
    fn drop(&mut self) {
        // With its input it ends, and what started it too.
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

fn installed(directory: &Path, name: &[u8]) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    let directories = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    let ip = directories.map(|it| it.join("ip")).find(|it| it.exists());
    let program = directory.join(OsStr::from_bytes(name));
    // A process is called as the path that it was started by.
    symlink(ip.expect("ip, of the package iproute2"), &program).unwrap();
    program
}

/// The capabilities that the unit leaves the service.
const AS_THE_UNIT: [&str; 3] = [
    "setpriv",
    "--bounding-set=-all,+net_admin",
    "--inh-caps=-all",
];

fn started(guest: &Guest) -> Service {
    guest.policy(
        "[[device]]\nmtu = 1400\nroutes = [{to = \"203.0.113.0/24\"}, {to = \"2001:db8:1::/64\"}]\n\
         rules = [{from = \"192.0.2.5\", table = 7, priority = 500}]\n",
    );
    guest.document(&json!([device(
        1,
        "net1",
        &["192.0.2.5/24", "2001:db8::5/64"]
    )]));
    let mut command = Command::new(AS_THE_UNIT[0]);
    command
        .args(&AS_THE_UNIT[1..])
        .arg(env!("CARGO_BIN_EXE_dra-guest-agent"));
    let service = Service::start_by(guest, command);
    wait_for("the device to be ready", || is_ready(guest));
    service
}

/// Undoes it whenever the service says that all is as wanted, until the service says who may be doing it.
fn told(guest: &Guest, mut undo: impl FnMut()) -> String {
    let mut message = String::new();
    wait_for("the foe to be told", || {
        let mtu = fs::read_to_string("/sys/class/net/net1/mtu").unwrap();
        if mtu == "1400\n" && is_ready(guest) {
            undo();
        }
        let status = guest.status().unwrap();
        status["devices"][0]["message"]
            .as_str()
            .unwrap()
            .clone_into(&mut message);
        message.contains("again and again")
    });
    message
}

fn named(name: &str, id: u32) -> String {
    format!(
        "the kernel does not say who; it may be {name} (pid {id}), or one that ends at once, as ip in a script"
    )
}

/// What is said of a program of this name that undoes it so, and the program's process id.
fn said_of(name: &[u8], how: &str) -> (String, u32) {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        let service = started(&guest);
        let mut foe = Foe::start(&guest, name, &["env"]);
        let message = told(&guest, || foe.undo(how));
        assert_eq!(service.end(), 0);
        (message, foe.0.id())
    })
}

#[test]
fn who_holds_a_socket_by_which_it_could_is_named_as_a_suspicion() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        // As in the unit: to the group root it hides none.
        hide_processes("invisible");
        let service = started(&guest);
        let mut foe = Foe::start(&guest, b"flapper", &["env"]);
        let id = foe.0.id();
        let message = told(&guest, || foe.undo("link set dev net1 mtu 1300"));
        assert!(message.ends_with(&named("flapper", id)), "{message}");
        assert_eq!(service.end(), 0);
    });
}

#[test]
fn who_removes_an_address_of_ipv4_a_route_or_a_rule_is_told_by_its_port() {
    for how in [
        "address del 192.0.2.5/24 dev net1",
        "route del 203.0.113.0/24",
        "route del 2001:db8:1::/64",
        "rule del from 192.0.2.5 table 7",
    ] {
        let (message, id) = said_of(b"flapper", how);
        let removed =
            format!("; removed through the netlink port {id}, that of flapper (pid {id})");
        assert!(message.ends_with(&removed), "{how}: {message}");
    }
}

/// It is looked for as soon as something changes, once something was undone.
#[test]
fn one_that_has_ended_since_is_named() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        let service = started(&guest);
        let foe = Foe::start(&guest, b"flapper", &["env"]);
        let id = foe.0.id();
        let (mut foe, mut times) = (Some(foe), 0);
        let message = told(&guest, || {
            times += 1;
            match &mut foe {
                Some(foe) if times <= 4 => foe.undo("link set dev net1 mtu 1300"),
                // By sysfs, for which it takes no socket.
                _ => {
                    foe = None;
                    fs::write("/sys/class/net/net1/mtu", "1300").unwrap();
                }
            }
        });
        assert!(
            foe.is_none() && message.ends_with(&named("flapper", id)),
            "{message}"
        );
        assert_eq!(service.end(), 0);
    });
}

/// Of an address of IPv6 the kernel says nothing.
#[test]
fn who_removes_an_address_of_ipv6_is_a_suspicion() {
    let (message, id) = said_of(b"flapper", "address del 2001:db8::5/64 dev net1");
    assert!(message.ends_with(&named("flapper", id)), "{message}");
}

/// In a container it calls itself by another process id, which its port is named after.
#[test]
fn a_foe_in_a_container_is_known_by_the_id_that_it_has_here() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        let service = started(&guest);
        let by = ["unshare", "--pid", "--fork", "--kill-child"];
        let mut foe = Foe::start(&guest, b"flapper", &by);
        let id = foe.0.id();
        let child = format!("/proc/{id}/task/{id}/children");
        let message = told(&guest, || foe.undo("link set dev net1 mtu 1300"));
        let child = fs::read_to_string(child).unwrap().trim().parse().unwrap();
        assert!(message.ends_with(&named("flapper", child)), "{message}");
        assert_eq!(service.end(), 0);
    });
}

#[test]
fn who_may_change_nothing_is_not_named_nor_is_the_agent() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        let service = started(&guest);
        let powerless = ["setpriv", "--bounding-set=-net_admin", "--inh-caps=-all"];
        let _bystander = Foe::start(&guest, b"bystander", &powerless);
        let message = told(&guest, || {
            fs::write("/sys/class/net/net1/mtu", "1300").unwrap();
        });
        assert!(
            message.ends_with(
                "; the kernel does not say who; no program is known to hold a netlink socket for \
                 it: it may be one that ends at once, as ip in a script"
            ),
            "{message}"
        );
        assert_eq!(service.end(), 0);
    });
}

#[test]
fn a_name_that_would_command_a_terminal_is_shown_as_a_text() {
    let name = b"\x1b[2J\n\r\xff\xe2\x80\xaex";
    let (message, id) = said_of(name, "link set dev net1 mtu 1300");
    let shown = r"\u{1b}[2J\n\r\u{fffd}\u{202e}x";
    assert!(message.ends_with(&named(shown, id)), "{message}");
}

/// Mounts a `/proc` that hides processes of others, as `ProtectProc=` does.
fn hide_processes(how: &str) {
    let options = format!("hidepid={how}");
    let flags = MsFlags::empty();
    mount(
        Some("proc"),
        "/proc",
        Some("proc"),
        flags,
        Some(options.as_str()),
    )
    .unwrap();
}

#[test]
fn a_proc_that_hides_the_processes_of_others_is_told() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        hide_processes("ptraceable");
        let service = started(&guest);
        let mut foe = Foe::start(&guest, b"flapper", &["env"]);
        let message = told(&guest, || foe.undo("link set dev net1 mtu 1300"));
        assert!(
            message.ends_with(
                "; the kernel does not say who; /proc does not show the agent who it may be"
            ),
            "{message}"
        );
        assert_eq!(service.end(), 0);
    });
}
