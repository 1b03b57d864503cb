//! The agent on a kernel that does not know a request. The one that runs the tests is made to by strace, which gives
//! the request a number that no kernel has: what it answers then is its own.

use std::fs;
use std::process::Command;

use crate::guest::Guest;
use crate::namespace::in_namespace;
use crate::wish::{apply, guest, lacks, linked, shows};

/// `RTM_NEWLINKPROP` (`include/uapi/linux/rtnetlink.h`, since Linux 5.5).
const NAMED: &str = "RTM_NEWLINKPROP";

/// Runs `apply` below strace, and gives back its exit code and what was traced.
fn traced(guest: &Guest, more: &[&str]) -> (i32, String) {
    let trace = guest.path("trace");
    let mut command = Command::new("strace");
    command
        .args(["-f", "-s", "64", "-e", "trace=sendto", "-o"])
        .arg(&trace);
    command.args(more);
    command
        .arg(env!("CARGO_BIN_EXE_dra-guest-agent"))
        .arg("apply");
    let output = guest.with_roots(command).output().unwrap();
    let code = output.status.code().expect("ended by a signal");
    (code, fs::read_to_string(trace).unwrap())
}

// rtnetlink of older kernels (case 83).
#[test]
fn a_kernel_without_alternative_names_costs_a_device_nothing_else() {
    let policy = "alternative-names = [\"storage\", \"backups\"]\nmtu = 1400";
    let addresses = ["192.0.2.5/24", "2001:db8::5/64"];
    // On one that has them: which requests ask for them, and how long they are.
    let asked = std::sync::Mutex::new(Vec::new());
    in_namespace(|| {
        linked("eth0");
        let guest = guest(&addresses, policy);
        let (code, trace) = traced(&guest, &[]);
        assert_eq!(code, 0, "{trace}");
        shows("link show net1", &["altname storage", "altname backups"]);
        for (number, line) in trace
            .lines()
            .filter(|line| line.contains("sendto("))
            .enumerate()
        {
            if line.contains(NAMED) {
                let length = line.split_once("len=").unwrap().1;
                let length: u32 = length.split_once(',').unwrap().0.parse().unwrap();
                asked.lock().unwrap().push((number + 1, length));
            }
        }
    });
    let asked = asked.into_inner().unwrap();
    in_namespace(|| {
        linked("eth0");
        let guest = guest(&addresses, policy);
        // `struct nlmsghdr` begins with the length and the number.
        let [(first, length), (last, of_last)] = asked[..] else {
            panic!("{asked:?}");
        };
        assert_eq!(
            (first + 1, length),
            (last, of_last),
            "the names are of one length"
        );
        let [a, b, c, d] = length.to_ne_bytes();
        let poke = format!(
            "inject=sendto:poke_enter=@arg2={a:02x}{b:02x}{c:02x}{d:02x}ffff:when={first}..{last}"
        );
        let (code, trace) = traced(&guest, &["-e", &poke]);
        assert_eq!(code, 3, "{trace}");
        shows(
            "address show dev net1",
            &["mtu 1400", ",UP", addresses[0], addresses[1]],
        );
        lacks("link show net1", "altname");
        let status = guest.status().unwrap();
        let message = status["devices"][0]["message"].as_str().unwrap();
        let told = |name: &str| {
            format!(
                "net1 cannot have the alternative name {name}: this kernel has none, which came with Linux 5.5"
            )
        };
        assert_eq!(message, format!("{}; {}", told("storage"), told("backups")));
        // Nothing is left of them to take back, and one that has them gives them.
        let journal = fs::read_to_string(guest.path("run/dra-guest/journal")).unwrap();
        let begun = journal.matches("\"begin\":").count() - journal.matches("\"retract\":").count();
        assert_eq!(begun, 5, "{journal}");
        apply(&guest);
    });
}
