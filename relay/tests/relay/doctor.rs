//! `doctor` on a node whose API server does not answer: what it says of the node itself, and of the command line.

use std::fs;
use std::net::TcpListener;
use std::process::{Command, Output, Stdio};

use serde_json::{Value as Json, json};

use crate::world::World;

/// A kubeconfig whose API server is nobody.
fn kubeconfig(world: &World) -> String {
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "x",
        "clusters": [{"name": "x", "cluster": {"server": format!("http://{closed}")}}],
        "users": [{"name": "x", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
    });
    let path = world.path("kubeconfig");
    fs::write(&path, config.to_string()).unwrap();
    path.display().to_string()
}

fn doctor(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dra-guest-relay"))
        .arg("doctor")
        .args(arguments)
        .env_remove("KUBERNETES_SERVICE_HOST")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn without_an_api_server_the_node_is_looked_at() {
    let world = World::new();
    let output = doctor(&["--json", "--kubeconfig", &kubeconfig(&world)]);
    assert_eq!(output.status.code(), Some(1));
    let said: Json = serde_json::from_slice(&output.stdout).unwrap();
    let checks = said["checks"].as_array().unwrap();
    let names: Vec<&str> = checks
        .iter()
        .map(|check| check["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        ["vhost_vsock", "vsock-mode", "vsock-port", "api-server"]
    );
    let findings = checks.iter().filter(|check| check["verdict"] == "finding");
    assert_eq!(
        findings.clone().count(),
        usize::try_from(said["findings"].as_u64().unwrap()).unwrap()
    );
    for finding in findings {
        assert!(finding["advice"].is_string(), "{finding}");
    }
    assert!(
        checks[3]["message"]
            .as_str()
            .unwrap()
            .contains("no answer from the API server")
    );
    assert_eq!(said["version"], "0.1.0");
}

#[test]
fn sockets_are_looked_at_and_not_touched() {
    let world = World::new();
    world.put_claim("a");
    let config = kubeconfig(&world);
    let socket = |name: &str, cid: u32| {
        format!(
            "--guest-socket=cid={cid},socket={}",
            world.path(name).display()
        )
    };
    // The path as doctor sees it is the one that the relay has bound.
    let bound = format!(
        "cid=5,socket={},claim=default/a",
        world.path("vm5").display()
    );
    let _relay = world.relay(&["--guest", &bound]);
    let mut guest = world.agent("vm5");
    fs::write(world.path("file_10739"), "precious").unwrap();
    let sockets = [
        socket("vm5", 5),
        socket("vm6", 6),
        socket("file", 7),
        socket("no/vm8", 8),
    ];
    let mut arguments: Vec<&str> = vec!["--kubeconfig", &config];
    arguments.extend(sockets.iter().map(String::as_str));
    let output = doctor(&arguments);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    for words in [
        "vm5_10739 for CID 5 is listened on",
        "vm6_10739 for CID 6: its directory is there",
        "file_10739 for CID 7: this is not a socket",
        "no/vm8_10739 for CID 8: No such file",
        "3 findings",
    ] {
        assert!(text.contains(words), "{words} is not in:\n{text}");
    }
    // Its connection is still the newest.
    guest.report(1, &[crate::world::ready("a")]);
}

#[test]
fn a_wrong_command_line_is_exit_code_2() {
    for (arguments, words) in [
        (&[][..], "outside of a pod name a file with --kubeconfig"),
        (&["--kubeconfig", "nowhere"][..], "--kubeconfig nowhere: "),
        (&["--driver", "A b"][..], "is not a Kubernetes name"),
        (&["--guest-socket", "cid=5"][..], "both of them"),
    ] {
        let output = doctor(arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(words), "{arguments:?}: {error}");
    }
}
