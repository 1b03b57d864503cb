//! `exec`: what the command is, whatever is near the device.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::guest::Guest;
use crate::near_status::{NODES, agent, exec, guest, near, nic, text};

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
    let no_interpreter = file("no-interpreter", "#!/no/such/shell\n", 0o755);
    for (command, code, words) in [
        (
            "no-such-command",
            127,
            "no-such-command cannot be run: No such file or directory",
        ),
        ("/no/such/command", 127, "No such file or directory"),
        (no_mode.as_str(), 126, "Permission denied"),
        (
            no_interpreter.as_str(),
            127,
            "the interpreter that it names is not",
        ),
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
            "exec takes -- <CMD>..., and no \"true\"",
        ),
        (
            &two,
            &["--device", "nic/vf", "--memory", "near", "--", "true"],
            2,
            "expected is bind or preferred or none",
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
    // Where others can reach it: a tree may be root's alone.
    let program = guest.path("dra-guest-agent");
    // By another process: a descriptor for writing, inherited by a child of another thread, would make it busy.
    let mut copy = Command::new("cp");
    copy.arg(env!("CARGO_BIN_EXE_dra-guest-agent"))
        .arg(&program);
    assert!(copy.status().unwrap().success(), "{copy:?}");
    let mut command = Command::new(&program);
    command.args(agent(&guest, &arguments).get_args());
    let output = command.uid(65_534).gid(65_534).output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(
        said,
        "CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nNoNewPrivs:\t0\nCpus_allowed_list:\t0\n65534\n",
        "{}",
        text(&output.stderr)
    );
    // Nor does it need files of root's alone.
    let mode = fs::metadata(&program).unwrap().permissions().mode();
    assert_eq!(mode & 0o6000, 0, "the program is not setuid");
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
