//! What the shipped agent asks of the kernel.
#![allow(clippy::unwrap_used, missing_docs)]

use std::fs;
use std::path::Path;
use std::process::Command;

use dra_guest_tests::programs::static_program;

/// The most system calls of an apply that has nothing to do, the start of a static program
/// included; 62 were seen.
const NO_OP_SYSTEM_CALLS: usize = 80;

/// One NIC in a network of its own: a first apply, then a second one under strace.
const SCRIPT: &str = r#"
set -eu
mount -t sysfs sysfs /sys
ip link add eth7 address 02:00:00:4e:92:87 type veth peer name peer
"$1" apply --attributes "$2/attributes.json" --run-root "$2" --etc-root "$2"
exec strace -f -o "$2/trace" "$1" apply --attributes "$2/attributes.json" --run-root "$2" --etc-root "$2"
"#;

fn second_apply(directory: &Path) -> String {
    let attributes = r#"{"apiVersion":"dra-guest/v1","kind":"DeviceAttributes","devices":[{"device":"nic",
        "network":{"interfaceName":"net1","macAddress":"02:00:00:4e:92:87",
                   "ipAddresses":["192.0.2.5/24","2001:db8::5/64"]}}]}"#;
    fs::write(directory.join("attributes.json"), attributes).unwrap();
    let output = Command::new("unshare")
        .args(["--net", "--mount", "--propagation=private"])
        .args(["sh", "-c", SCRIPT, "sh"])
        .arg(static_program("dra-guest-agent").unwrap())
        .arg(directory)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    fs::read_to_string(directory.join("trace")).unwrap()
}

// GoogleCloudPlatform/guest-agent#610 (case 50).
#[test]
fn an_apply_with_nothing_to_do_asks_little_and_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let trace = second_apply(directory.path());
    let calls = trace.lines().filter(|line| line.contains('(')).count();
    println!("{calls} system calls");
    assert!(
        trace.contains("RTM_GETADDR"),
        "no look at the kernel: {trace}"
    );
    assert!(calls <= NO_OP_SYSTEM_CALLS, "{calls}: {trace}");
    // What a change would be sent with: it asks to be acknowledged.
    for change in ["RTM_SETLINK", "RTM_DELLINK", "RTM_DELADDR", "NLM_F_ACK"] {
        assert!(!trace.contains(change), "{change}: {trace}");
    }
}
