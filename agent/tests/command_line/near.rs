//! `exec` and `env`: what is near the device. What the kernel makes of two nodes is seen in a guest that has them.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::near_status::{NODES, agent, exec, guest, near, nic, text};

// Mellanox/ngc_multinode_perf#6 (case 96); NFD#791, fake-gpu-operator#216 (case 97).
#[test]
fn a_device_that_is_nowhere_has_no_command_and_one_of_unknown_place_runs_anywhere() {
    let mut absent = nic(&Value::Null);
    absent.as_object_mut().unwrap().remove("interfaceName");
    absent["reason"] = json!("DeviceNotFound");
    absent["message"] = json!("no network interface has the MAC address");
    let unknown = nic(&json!({"unknown": "neither says"}));
    let not_there = nic(&json!({"notThere": "the attributes' guest.numaNode says NUMA node 7"}));
    let gone = nic(&near("7", "14-15"));
    let excluded = nic(&near("1", "60000-60001"));
    for (device, strict, code, words) in [
        (
            &absent,
            false,
            1,
            "DeviceNotFound: no network interface has the MAC address",
        ),
        (
            &unknown,
            false,
            0,
            "nic/vf: neither says: it runs on any CPU",
        ),
        (&unknown, true, 1, "nic/vf: neither says"),
        (&not_there, false, 1, "guest.numaNode says NUMA node 7"),
        (
            &gone,
            false,
            1,
            "NUMA node 7, which this guest does not have: it has 0-1",
        ),
        (
            &excluded,
            false,
            1,
            "none of its CPUs 60000-60001 is in the cpuset of this process",
        ),
    ] {
        let guest = guest(&json!([device]), &NODES);
        let mut arguments = vec!["--device", "nic/vf"];
        arguments.extend(strict.then_some("--strict"));
        arguments.extend(["--memory", "none", "--", "echo", "ran"]);
        let output = exec(&guest, &arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{device}: {said}");
        assert!(said.contains(words), "{device}: {said}");
        assert_eq!(text(&output.stdout) == "ran\n", code == 0, "{device}");
    }
}

// One-node guests (case 99).
#[test]
fn with_one_node_or_none_all_is_as_it_was_and_nothing_is_said() {
    let one = [
        ("cpu/online", "0-1\n"),
        ("node/online", "0\n"),
        ("node/node0/cpulist", "0-1\n"),
    ];
    let without_numa = [("cpu/online", "0-1\n")];
    for (files, locality) in [
        (&one[..], Value::Null),
        (&one, near("0", "0-1")),
        (&without_numa, Value::Null),
        (&without_numa, near("0", "0-1")),
    ] {
        let guest = guest(&json!([nic(&locality)]), files);
        let script =
            "grep Cpus_allowed_list /proc/self/status; grep -q ' default ' /proc/self/numa_maps";
        let output = exec(
            &guest,
            &[
                "--device", "net1", "--strict", "--memory", "bind", "--", "sh", "-c", script,
            ],
        );
        assert_eq!(output.status.code(), Some(0), "{locality}");
        let before = fs::read_to_string("/proc/self/status").unwrap();
        assert!(before.contains(&text(&output.stdout)), "{before}");
        assert_eq!(text(&output.stderr), "", "{locality}");
        let env = agent(&guest, &["env", "--device", "net1"])
            .output()
            .unwrap();
        assert!(env.status.success());
        assert!(!text(&env.stdout).contains("CPUS"), "{}", text(&env.stdout));
        assert_eq!(text(&env.stderr), "");
    }
}

#[test]
fn an_affinity_that_was_chosen_is_kept_and_isolated_cpus_are_not_taken() {
    let devices = json!([nic(&near("0", "0"))]);
    let mut files = NODES.to_vec();
    files.push(("cpu/isolated", "0\n"));
    let status = [
        "--device",
        "nic/vf",
        "--memory",
        "none",
        "--",
        "grep",
        "Cpus_allowed_list",
        "/proc/self/status",
    ];
    // The machine that runs the tests has one CPU at least, which was not isolated.
    let isolated = guest(&devices, &files);
    let output = exec(&isolated, &status);
    assert_eq!(
        text(&output.stdout),
        "Cpus_allowed_list:\t0\n",
        "{}",
        text(&output.stderr)
    );

    let all_isolated = [
        ("cpu/isolated", "60000-60001\n"),
        ("node/online", "0-1\n"),
        ("node/node1/cpulist", "60000-60001\n"),
    ];
    let far = guest(&json!([nic(&near("1", "60000-60001"))]), &all_isolated);
    let output = exec(&far, &status);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("CPUs 60000-60001 are all isolated"), "{said}");
}

#[test]
fn more_cpus_than_64_and_than_1024_are_given_to_the_kernel() {
    let files = [
        ("node/online", "0-1\n"),
        ("node/node0/cpulist", "0,64,1024-2047,5000\n"),
        ("node/node1/cpulist", "1-63\n"),
    ];
    let guest = guest(&json!([nic(&near("0", "0"))]), &files);
    let output = exec(
        &guest,
        &[
            "--device",
            "nic/vf",
            "--memory",
            "none",
            "--",
            "grep",
            "Cpus_allowed_list",
            "/proc/self/status",
        ],
    );
    assert_eq!(
        text(&output.stdout),
        "Cpus_allowed_list:\t0\n",
        "{}",
        text(&output.stderr)
    );
    let env = agent(&guest, &["env", "--device", "nic/vf"])
        .output()
        .unwrap();
    let said = text(&env.stdout);
    assert!(
        said.contains("DRA_GUEST_CPUS=0,64,1024-2047,5000\n"),
        "{said}"
    );
}

#[test]
fn env_quotes_what_is_hostile_and_says_what_holds_now() {
    let mut device = nic(&near("0", "0"));
    device["interfaceName"] = json!("a'$(touch x)`id`\"\nDRA_GUEST_CPUS=7");
    let guest = guest(&json!([device]), &NODES);
    let output = agent(&guest, &["env", "--device", "nic/vf"])
        .output()
        .unwrap();
    assert!(output.status.success());
    let script = "eval \"$1\"; printf '%s|%s|%s' \"$DRA_GUEST_INTERFACE\" \"$DRA_GUEST_CPUS\" \"$DRA_GUEST_MEMS\"";
    let read = Command::new("sh")
        .args(["-euc", script, "sh", &text(&output.stdout)])
        .current_dir(guest.path(""))
        .output()
        .unwrap();
    assert_eq!(text(&read.stdout), "a'$(touch x)`id`\"DRA_GUEST_CPUS=7|0|0");
    assert!(!guest.path("x").exists());

    // A CPU that came after the status was written, and one that is isolated.
    fs::write(
        guest.path("sys/devices/system/node/node0/cpulist"),
        "0,4-5\n",
    )
    .unwrap();
    fs::write(guest.path("sys/devices/system/cpu/online"), "0-5\n").unwrap();
    fs::write(guest.path("sys/devices/system/cpu/isolated"), "5\n").unwrap();
    let output = agent(&guest, &["env", "--device", "nic/vf"])
        .output()
        .unwrap();
    let said = text(&output.stdout);
    assert!(
        said.contains("DRA_GUEST_CPUS=0,4\nDRA_GUEST_ISOLATED_CPUS=5\nDRA_GUEST_MEMS=0\n"),
        "{said}"
    );
}
