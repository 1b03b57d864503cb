//! `exec` and `env`: a status as the service writes it, and trees that look like sysfs. What the kernel makes of
//! two nodes is seen in a guest that has them.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::guest::Guest;

/// A guest whose status has these devices, and whose sysfs these files below `devices/system`.
fn guest(devices: &Value, files: &[(&str, &str)]) -> Guest {
    let guest = Guest::new();
    let status = json!({
        "apiVersion": "dra-guest/v1", "kind": "Status", "agentVersion": "0.1.0", "ready": true,
        "source": "/run/kubevirt/device-attributes.json", "documentDigest": "sha256:00", "devices": devices,
    });
    fs::create_dir_all(guest.path("run/dra-guest")).unwrap();
    fs::write(guest.path("run/dra-guest/status.json"), status.to_string()).unwrap();
    for (path, text) in files {
        let path = guest.path("sys/devices/system").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    guest
}

fn nic(locality: &Value) -> Value {
    let mut device = json!({
        "identity": {"claim": {"namespace": "default", "name": "vm-nic-x7k2p", "podClaimName": "nic"}, "request": "vf"},
        "ready": true, "reason": "Configured", "interfaceName": "net1",
    });
    if !locality.is_null() {
        device["locality"] = locality.clone();
    }
    device
}

fn near(nodes: &str, cpus: &str) -> Value {
    json!({"near": {"nodes": nodes, "cpus": cpus, "by": "sysfs"}})
}

fn agent(guest: &Guest, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dra-guest-agent"));
    let (verb, rest) = arguments.split_first().unwrap();
    command
        .arg(verb)
        .arg("--run-root")
        .arg(guest.path("run"))
        .arg("--sys-root")
        .arg(guest.path("sys"))
        .args(rest);
    command
}

fn exec(guest: &Guest, arguments: &[&str]) -> Output {
    let arguments: Vec<&str> = ["exec"].iter().chain(arguments).copied().collect();
    agent(guest, &arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Two nodes, of which the first has this machine's first CPU: what is bound to it can be tried anywhere.
const NODES: [(&str, &str); 5] = [
    ("cpu/online", "0-1\n"),
    ("node/online", "0-1\n"),
    ("node/has_memory", "0-1\n"),
    ("node/node0/cpulist", "0\n"),
    ("node/node1/cpulist", "60000-60001\n"),
];

#[test]
fn the_command_takes_the_agents_place() {
    let guest = guest(&json!([nic(&near("0", "0"))]), &NODES);
    let run = |script: &str| exec(&guest, &["--device", "nic/vf", "--", "sh", "-c", script]);
    let output = run("echo out; echo err >&2; exit 7");
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(
        (text(&output.stdout), text(&output.stderr)),
        ("out\n".into(), "err\n".into())
    );

    let output = run("kill -KILL $$");
    assert_eq!(output.status.signal(), Some(9));

    // The same process, with what it is handed.
    let script = "read -r line; echo \"$line $MARK $$\"";
    let mut command = agent(
        &guest,
        &["exec", "--device", "nic/vf", "--", "sh", "-c", script],
    );
    let command = command
        .env("MARK", "mark")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let id = child.id();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"line\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(text(&output.stdout), format!("line mark {id}\n"));
}

#[test]
fn the_commands_signals_are_as_the_agent_got_them() {
    let guest = guest(&json!([nic(&near("0", "0"))]), &NODES);
    for (trap, ignored) in [
        ("", 0),
        ("PIPE", 1 << 12),
        ("HUP PIPE", 1 | 1 << 12),
        ("TERM", 1 << 14),
    ] {
        let ignore = if trap.is_empty() {
            String::new()
        } else {
            format!("trap '' {trap};")
        };
        let agent = agent(
            &guest,
            &[
                "exec",
                "--device",
                "nic/vf",
                "--",
                "grep",
                "-E",
                "Sig(Ign|Blk)",
                "/proc/self/status",
            ],
        );
        let arguments = agent.get_args().map(|argument| argument.to_str().unwrap());
        let line: Vec<&str> = [agent.get_program().to_str().unwrap()]
            .into_iter()
            .chain(arguments)
            .collect();
        // Reset what this test was started with, so that each is known.
        let script = format!(
            "{ignore} exec {}",
            line.join(" ").replace("Sig(Ign|Blk)", "'Sig(Ign|Blk)'")
        );
        let output = Command::new("env")
            .args(["--default-signal", "sh", "-c", &script])
            .output()
            .unwrap();
        let said = text(&output.stdout);
        let mask = |key: &str| {
            let mut lines = said.lines();
            let mask = lines.find_map(|line| line.strip_prefix(key)).unwrap();
            // Signals 32 and above are the C library's own, or come from whoever runs the tests.
            u64::from_str_radix(mask.trim(), 16).unwrap() & 0x7fff_ffff
        };
        assert_eq!(
            (mask("SigBlk:"), mask("SigIgn:")),
            (0, ignored),
            "{trap}: {said}"
        );
    }
}

#[test]
fn a_command_that_cannot_be_run_is_told_as_a_shell_tells_it() {
    let guest = guest(&json!([nic(&near("0", "0"))]), &NODES);
    let file = |name: &str, content: &str, mode: u32| {
        let path = guest.path(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let no_mode = file("no-mode", "#!/bin/sh\n", 0o644);
    for (command, code, words) in [
        (
            "no-such-command",
            127,
            "no-such-command cannot be run: No such file or directory",
        ),
        ("/no/such/command", 127, "No such file or directory"),
        (no_mode.as_str(), 126, "Permission denied"),
        ("/", 126, "Permission denied"),
        ("", 127, "No such file or directory"),
    ] {
        let output = exec(&guest, &["--device", "nic/vf", "--", command]);
        assert_eq!(output.status.code(), Some(code), "{command:?}");
        let said = text(&output.stderr);
        assert!(said.contains(words), "{command:?}: {said}");
    }
}

#[test]
fn what_is_asked_wrongly_never_runs_the_command() {
    let devices = json!([nic(&near("0", "0")), nic(&near("1", "60000-60001"))]);
    let two = guest(&devices, &NODES);
    let none = Guest::new();
    for (guest, arguments, code, words) in [
        (
            &two,
            &["--device", "gpu", "--", "true"][..],
            2,
            "no device is called gpu: the attributes have nic/vf (net1)",
        ),
        (
            &two,
            &["--device", "nic/vf", "--", "true"],
            2,
            "nic/vf means several devices",
        ),
        (&two, &["--device", "nic/vf"], 2, "<CMD>..."),
        (&two, &["--", "true"], 2, "--device"),
        (
            &two,
            &["--device", "nic/vf", "true"],
            2,
            "unexpected argument",
        ),
        (
            &two,
            &["--device", "nic/vf", "--memory", "near", "--", "true"],
            2,
            "bind, preferred, none",
        ),
        (
            &none,
            &["--device", "nic/vf", "--", "true"],
            4,
            "the agent has not run yet",
        ),
    ] {
        let output = exec(guest, arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        let said = text(&output.stderr);
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
}

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
fn it_is_no_privilege() {
    let guest = guest(&json!([nic(&near("0", "0"))]), &NODES);
    let world = |path: &str| {
        fs::set_permissions(guest.path(path), fs::Permissions::from_mode(0o755)).unwrap();
    };
    for path in ["", "run", "run/dra-guest"] {
        world(path);
    }
    let script = "grep -E 'CapEff|CapPrm|Cpus_allowed_list|NoNewPrivs' /proc/self/status; id -u";
    let arguments = [
        "exec",
        "--device",
        "nic/vf",
        "--memory",
        "preferred",
        "--",
        "sh",
        "-c",
        script,
    ];
    let mut command = agent(&guest, &arguments);
    let output = command.uid(65_534).gid(65_534).output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(
        said,
        "CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nNoNewPrivs:\t0\nCpus_allowed_list:\t0\n65534\n",
        "{}",
        text(&output.stderr)
    );
    // Nor does it need files of root's alone.
    let mode = fs::metadata(env!("CARGO_BIN_EXE_dra-guest-agent"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o6000, 0, "the program is not setuid");
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

#[test]
fn the_status_is_read_through_no_link_that_a_stranger_made() {
    // `/run/dra-guest` is the service's: others cannot write there, and exec gives nothing but its own rights.
    let guest = guest(&json!([nic(&near("0", "0"))]), &NODES);
    fs::remove_file(guest.path("run/dra-guest/status.json")).unwrap();
    symlink("/dev/zero", guest.path("run/dra-guest/status.json")).unwrap();
    let output = exec(&guest, &["--device", "nic/vf", "--", "true"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
}
