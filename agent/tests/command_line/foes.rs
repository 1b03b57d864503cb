//! Whom the service names when somebody undoes its work.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::guest::{Guest, device, wait_for};
use crate::namespace::{in_namespace, ip, veth};
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
    fs::copy(ip.expect("ip, of the package iproute2"), &program).unwrap();
    program
}

/// The capabilities that the unit leaves the service.
const AS_THE_UNIT: [&str; 3] = [
    "setpriv",
    "--bounding-set=-all,+net_admin",
    "--inh-caps=-all",
];

fn started(guest: &Guest) -> Service {
    guest.policy("[[device]]\nmtu = 1400\nroutes = [{to = \"203.0.113.0/24\"}]\n");
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

fn is_as_wanted() -> bool {
    let shown = [ip("address show dev net1"), ip("route show")].concat();
    let wanted = [
        "mtu 1400",
        "192.0.2.5/24",
        "2001:db8::5/64",
        "203.0.113.0/24",
    ];
    wanted.iter().all(|word| shown.contains(word))
}

/// Undoes it whenever all is as wanted, until the service says who may be doing it.
fn told(guest: &Guest, mut undo: impl FnMut()) -> String {
    let mut message = String::new();
    wait_for("the foe to be told", || {
        if is_as_wanted() {
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

#[test]
fn who_holds_a_socket_by_which_it_could_is_named_as_a_suspicion() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        let service = started(&guest);
        let mut foe = Foe::start(&guest, b"flapper", &["env"]);
        let id = foe.0.id();
        let message = told(&guest, || foe.undo("link set dev net1 mtu 1300"));
        assert!(message.ends_with(&named("flapper", id)), "{message}");
        assert_eq!(service.end(), 0);
    });
}
