//! The states that runtimes write, each as it was seen, and states that none writes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod container;

use std::fs;
use std::io::Write;
use std::process::Stdio;

use container::{Container, DOCUMENT, METADATA, Outcome, feed};
use serde_json::{Value, json};

fn run(container: &Container, shape: &str) -> Outcome {
    let state = shape
        .replace("BUNDLE", container.path("bundle").to_str().unwrap())
        .replace("ROOT", container.root("").to_str().unwrap());
    container.run_with_state(state.as_bytes(), &["--vm-mount-source", "any"])
}

fn pod(container: &Container) -> Option<Value> {
    let document: Value = serde_json::from_str(&container.document().unwrap()).unwrap();
    document.get("pod").cloned()
}

#[test]
fn the_state_of_every_runtime_leads_to_the_root_file_system() {
    let named = json!({
        "namespace": "default",
        "name": "virt-launcher-vm-x7k",
        "uid": "5f0c9a34-5f0e-4d6a-8a3e-3f9c1e9d1b52",
    });
    for (name, shape, expected) in [
        ("runc 1.1", include_str!("states/runc-1.1.json"), None),
        (
            "containerd and runc",
            include_str!("states/containerd-runc.json"),
            Some(&named),
        ),
        (
            "crun 1.8",
            include_str!("states/crun-1.8.json"),
            Some(&named),
        ),
        (
            "CRI-O and crun 1.28",
            include_str!("states/crun-1.28-cri-o.json"),
            Some(&named),
        ),
        ("youki 0.7", include_str!("states/youki-0.7.json"), None),
        (
            "podman and crun",
            include_str!("states/podman-crun.json"),
            None,
        ),
    ] {
        let container = Container::with_metadata(METADATA);
        let outcome = run(&container, shape);
        assert_eq!(outcome.code, Some(0), "{name}: {}", outcome.stderr);
        assert_eq!(pod(&container).as_ref(), expected, "{name}");
        if expected.is_some() {
            assert_eq!(container.document().unwrap(), DOCUMENT, "{name}");
        }
    }
}

#[test]
fn the_pod_is_also_found_in_the_configuration() {
    let container = Container::with_metadata(METADATA);
    fs::write(
        container.path("bundle/config.json"),
        json!({
            "root": {"path": container.root("")},
            "annotations": {
                "io.kubernetes.cri.sandbox-namespace": "default",
                "io.kubernetes.cri.sandbox-name": "vm",
            },
        })
        .to_string(),
    )
    .unwrap();
    container
        .run(&["--vm-mount-source", "any"])
        .assert_success();
    assert_eq!(
        pod(&container),
        Some(json!({"namespace": "default", "name": "vm"}))
    );
}

#[test]
fn a_hostile_pod_name_is_left_out_and_told() {
    let container = Container::with_metadata(METADATA);
    let state = json!({
        "bundle": container.path("bundle"),
        "annotations": {
            "io.kubernetes.cri.sandbox-namespace": "default",
            "io.kubernetes.cri.sandbox-name": "a\n2026-01-01T00:00:00Z error forged\u{1b}[2J",
        },
    });
    let log = container.path("log");
    let outcome = container.run_with_state(
        state.to_string().as_bytes(),
        &["--vm-mount-source", "any", "--log", log.to_str().unwrap()],
    );
    outcome.assert_success();
    assert_eq!(pod(&container), None);
    assert!(
        outcome.stderr.contains("the pod is left out"),
        "{}",
        outcome.stderr
    );
    let log = fs::read_to_string(log).unwrap();
    assert!(
        !log.contains('\u{1b}') && !log.contains("\n2026-01-01"),
        "{log}"
    );
}

#[test]
fn an_unreadable_configuration_does_not_matter_where_the_state_names_the_root() {
    let container = Container::with_metadata(METADATA);
    fs::remove_file(container.path("bundle/config.json")).unwrap();
    run(&container, include_str!("states/podman-crun.json")).assert_success();
    assert!(container.document().is_some());
    run(&container, include_str!("states/runc-1.1.json"))
        .assert_error("bundle/config.json cannot be opened: No such file or directory");
}

#[test]
fn states_that_no_runtime_writes_are_refused() {
    let container = Container::with_metadata(METADATA);
    let flood = format!(r#"{{"bundle":"{}"}}"#, "x".repeat(1 << 20));
    let deep = format!(
        r#"{{"annotations":{}"#,
        "{\"io.kubernetes.pod.name\":".repeat(10_000)
    );
    let shape = "the container state on standard input is not one of the OCI runtime specification";
    for (state, text) in [
        ("", "standard input is empty"),
        (" \n", "standard input is empty"),
        (flood.as_str(), "has more than 1048576 bytes"),
        ("\u{feff}{}", shape),
        ("{", shape),
        ("{\"bundle\":\"/x\"} trailing", shape),
        (r#"{"bundle":["/x"]}"#, shape),
        (
            r#"{"bundle":"/x","bundle":"/y"}"#,
            "duplicate field `bundle`",
        ),
        (deep.as_str(), shape),
        ("{}", "the container state has no \"bundle\""),
        (r#"{"bundle":""}"#, "the container state has no \"bundle\""),
        (
            r#"{"bundle":"bundle"}"#,
            "the bundle \"bundle\" of the container state is not an absolute path",
        ),
        (
            r#"{"bundle":"/nowhere/at/all"}"#,
            "the bundle /nowhere/at/all cannot be opened: No such file",
        ),
        (
            r#"{"root":"/nowhere/at/all"}"#,
            "the container's root file system /nowhere/at/all cannot be opened",
        ),
        (
            r#"{"root":"/nowhere\u0000/x"}"#,
            "cannot be opened: Invalid argument",
        ),
    ] {
        container
            .run_with_state(state.as_bytes(), &[])
            .assert_error(text);
    }
    container
        .run_with_state(b"{\"bundle\":\"/\xff\"}", &[])
        .assert_error(shape);
    assert_eq!(container.document(), None);
}

#[test]
fn a_state_that_does_not_end_is_given_up() {
    let container = Container::with_metadata(METADATA);
    let hook = [env!("CARGO_BIN_EXE_dra-cdi-hook"), "create-container"];
    let mut child = container.command(&hook).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(container.state().as_bytes()).unwrap();
    // The pipe stays open until the hook has ended.
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("did not end within 8 s"), "{stderr}");
    assert_eq!(container.document(), None);
}

#[test]
fn a_closed_standard_input_is_an_empty_one() {
    let container = Container::with_metadata(METADATA);
    let mut command = container.command(&[
        "sh",
        "-c",
        "exec \"$0\" create-container <&-",
        env!("CARGO_BIN_EXE_dra-cdi-hook"),
    ]);
    command.stdin(Stdio::null());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("standard input is empty")
    );
}

#[test]
fn configurations_that_no_engine_writes_are_refused() {
    for (content, text) in [
        ("", "bundle/config.json: EOF while parsing"),
        ("{}", "bundle/config.json: \"root.path\" is missing"),
        (r#"{"root":{"path":""}}"#, "\"root.path\" is missing"),
        (r#"{"root":{}}"#, "missing field `path`"),
        (
            r#"{"root":{"path":"elsewhere"}}"#,
            "root file system elsewhere cannot be opened",
        ),
        (
            r#"{"root":{"path":"config.json"}}"#,
            "config.json cannot be opened: Not a directory",
        ),
        (
            r#"{"root":{"path":"/"}}"#,
            "is the node's own root directory",
        ),
        (
            r#"{"root":{"path":"/proc/self/root"}}"#,
            "is the node's own root directory",
        ),
        (
            r#"{"root":{"path":"../../../../../../../../../.."}}"#,
            "is the node's own root directory",
        ),
    ] {
        let container = Container::with_metadata(METADATA);
        fs::write(container.path("bundle/config.json"), content).unwrap();
        container.run(&[]).assert_error(text);
        assert_eq!(container.document(), None);
    }
}

#[test]
fn something_else_in_the_place_of_the_configuration_is_refused() {
    let container = Container::with_metadata(METADATA);
    let config = container.path("bundle/config.json");
    let text = "bundle/config.json: this is not a regular file";
    fs::remove_file(&config).unwrap();
    fs::create_dir(&config).unwrap();
    container.run(&[]).assert_error(text);
    fs::remove_dir(&config).unwrap();
    let mut mkfifo = std::process::Command::new("mkfifo");
    mkfifo
        .arg(&config)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    assert_eq!(feed(mkfifo, b"").code, Some(0));
    container.run(&[]).assert_error(text);
}
