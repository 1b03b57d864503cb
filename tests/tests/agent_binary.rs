//! What the shipped agent asks of the kernel, and the memory that it takes.
#![allow(clippy::unwrap_used, missing_docs)]

use std::fs;
use std::process::Command;

use dra_guest_tests::bench::Memory;
use dra_guest_tests::programs::static_program;

const NICS: usize = 8;

/// The most system calls of an apply that has nothing to do with [`NICS`] NICs, the start of a static
/// program included, where no network manager runs, and where one does, whose state of each NIC is opened
/// and read: 64 and 78 were seen, six of them for the journal.
const NO_OP: usize = 65;
const NO_OP_BESIDE_A_MANAGER: usize = 79;

/// The most system calls of an apply that names [`NICS`] NICs, sets them up and gives them addresses of
/// both families; 259 were seen.
const COLD: usize = 260;

/// The most system calls of `exec` until the command takes its place, the start of a static program
/// included; 29 were seen.
const EXEC_SYSTEM_CALLS: usize = 36;

/// The most memory of the service, in KiB; 2268 were seen.
const PEAK: u64 = 3 * 1024;
/// The most of it that is not the program's file; 336 were seen.
const OWN: u64 = 768;

/// In a network of their own: the NICs, a first apply, and what is under test.
const PREPARATION: &str = r#"
set -eu
agent=$1 directory=$2 nics=$3
roots="--attributes $directory/attributes.json --run-root $directory --etc-root $directory"
mount -t sysfs sysfs /sys
for nic in $(seq "$nics"); do
    ip link add "eth$nic" address "02:00:00:00:00:0$nic" type veth peer name "peer$nic"
done
"#;

const FIRST_APPLY: &str = r#"
exec strace -f -o "$directory/trace" "$agent" apply $roots
"#;

const SECOND_APPLY: &str = r#"
"$agent" apply $roots
for nic in $(seq "$nics"); do
    index=$(cat "/sys/class/net/net$nic/ifindex")
    printf 'ADMIN_STATE=unmanaged\n' >"$directory/links/$index"
    printf '[device]\nmanaged=false\n' >"$directory/devices/$index"
done
case $4 in
networkd) mkdir -p "$directory/systemd/netif"
    echo OPER_STATE=routable >"$directory/systemd/netif/state"
    mv "$directory/links" "$directory/systemd/netif/links" ;;
NetworkManager) mkdir -p "$directory/NetworkManager"
    mv "$directory/devices" "$directory/NetworkManager/devices" ;;
esac
exec strace -f -o "$directory/trace" "$agent" apply $roots
"#;

/// The service, until it has put a NIC right again.
const SERVICE: &str = r#"
"$agent" run $roots >"$directory/log" 2>&1 &
service=$!
trap 'kill $service' EXIT
wait_for() { for _ in $(seq 600); do "$@" && return; sleep 0.05; done; cat "$directory/log" >&2; exit 1; }
is_ready() { grep -qs '^  "ready": true' "$directory/dra-guest/status.json"; }
is_up() { ip -oneline link show up dev net1 | grep -q net1; }
wait_for is_ready
ip link set dev net1 down
wait_for is_up
cp "/proc/$service/status" "$directory/trace"
"#;

/// Runs a script after [`PREPARATION`] and gives what it left in the file `trace`.
fn trace_of(script: &str, argument: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    for states in ["links", "devices"] {
        fs::create_dir(path(states)).unwrap();
    }
    let devices = (1..=NICS).map(|nic| {
        format!(
            r#"{{"device":"nic{nic}","network":{{"interfaceName":"net{nic}",
                "macAddress":"02:00:00:00:00:0{nic}",
                "ipAddresses":["10.0.{nic}.5/24","2001:db8:{nic}::5/64"]}}}}"#
        )
    });
    let devices: Vec<String> = devices.collect();
    let document = format!(
        r#"{{"apiVersion":"dra-guest/v1","kind":"DeviceAttributes","devices":[{}]}}"#,
        devices.join(",")
    );
    fs::write(path("attributes.json"), document).unwrap();
    let output = Command::new("unshare")
        .args(["--net", "--mount", "--propagation=private", "sh", "-c"])
        .args([&format!("{PREPARATION}{script}"), "sh"])
        .arg(static_program("dra-guest-agent").unwrap())
        .arg(directory.path())
        .args([&NICS.to_string(), argument])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    fs::read_to_string(path("trace")).unwrap()
}

fn calls(trace: &str) -> usize {
    trace.lines().filter(|line| line.contains('(')).count()
}

#[test]
fn the_first_apply_asks_for_each_change_once_and_writes_each_file_once() {
    let trace = trace_of(FIRST_APPLY, "");
    let calls = calls(&trace);
    println!("the first apply: {calls} system calls");
    assert!(calls <= COLD, "{calls}: {trace}");
    // Each is renamed and set up, and gets two addresses.
    let asked = |kind: &str| {
        let sent = trace.lines().filter(|line| line.contains("sendto("));
        sent.filter(|line| line.contains(kind)).count()
    };
    assert_eq!(asked("RTM_SETLINK"), 2 * NICS, "{trace}");
    assert_eq!(asked("RTM_NEWADDR"), 2 * NICS, "{trace}");
    // A look before, and one after, whose second list of addresses shows that none is a duplicate.
    assert!(asked("RTM_GETADDR") >= 2, "{trace}");
    // The journal has every step before the first, in one write.
    let first = trace.find("RTM_SETLINK").unwrap();
    let (before, after) = trace.split_at(first);
    assert!(before.contains("{\\\"bootId\\\":"), "{trace}");
    assert!(!after.contains("{\\\"begin\\\":"), "{trace}");
}

// GoogleCloudPlatform/guest-agent#610 (case 50).
#[test]
fn an_apply_with_nothing_to_do_asks_little_and_changes_nothing() {
    for (manager, state, most) in [
        ("none", None, NO_OP),
        (
            "networkd",
            Some("systemd/netif/links/"),
            NO_OP_BESIDE_A_MANAGER,
        ),
        (
            "NetworkManager",
            Some("NetworkManager/devices/"),
            NO_OP_BESIDE_A_MANAGER,
        ),
    ] {
        let trace = trace_of(SECOND_APPLY, manager);
        let calls = calls(&trace);
        println!("manager {manager}: {calls} system calls");
        for look in ["RTM_GETADDR", "dra-guest/files.json"] {
            assert!(trace.contains(look), "no look at {look}: {trace}");
        }
        // Who else configures a NIC is looked at each time.
        if let Some(state) = state {
            assert_eq!(trace.matches(state).count(), NICS, "{trace}");
        }
        assert!(calls <= most, "{calls}: {trace}");
        // What a change would be sent with: it asks to be acknowledged.
        for change in ["RTM_SETLINK", "RTM_DELLINK", "RTM_DELADDR", "NLM_F_ACK"] {
            assert!(!trace.contains(change), "{change}: {trace}");
        }
    }
}

/// In a guest of two nodes, of which the machine that runs the test need have the first alone.
#[test]
fn exec_asks_little_before_the_command_takes_over() {
    let directory = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("sys/devices/system/node/online", "0-1\n"),
        ("sys/devices/system/node/node0/cpulist", "0\n"),
        (
            "run/dra-guest/status.json",
            r#"{"apiVersion":"dra-guest/v1","kind":"Status","agentVersion":"0","ready":true,"documentDigest":"sha256:0",
                "devices":[{"identity":{"request":"vf"},"ready":true,"reason":"Configured","interfaceName":"net1",
                "locality":{"near":{"nodes":"0","cpus":"0","by":"sysfs"}}}]}"#,
        ),
    ] {
        let path = directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let trace = directory.path().join("trace");
    let output = Command::new("strace")
        .arg("-o")
        .arg(&trace)
        .arg(static_program("dra-guest-agent").unwrap())
        .arg("exec")
        .arg("--run-root")
        .arg(directory.path().join("run"))
        .arg("--sys-root")
        .arg(directory.path().join("sys"))
        .args(["--device", "net1", "--", "/bin/true"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let trace = fs::read_to_string(trace).unwrap();
    let own = trace
        .lines()
        .skip(1)
        .take_while(|line| !line.starts_with("execve("));
    let calls = own.filter(|line| line.contains('(')).count();
    println!("exec: {calls} system calls");
    assert!(calls <= EXEC_SYSTEM_CALLS, "{calls}: {trace}");
    for call in [
        "sched_getaffinity(0, 128, ",
        "set_mempolicy(MPOL_PREFERRED, ",
    ] {
        assert!(trace.contains(call), "{call}: {trace}");
    }
    // No thread, no second process, no socket.
    for call in ["clone", "fork", "socket", "epoll"] {
        assert!(!trace.contains(call), "{call}: {trace}");
    }
}

#[test]
fn the_service_is_small() {
    let memory = Memory::parse(&trace_of(SERVICE, "")).unwrap();
    println!("{memory:?} KiB");
    assert!(memory.peak <= PEAK, "{memory:?} KiB");
    assert!(memory.own <= OWN, "{memory:?} KiB");
}
