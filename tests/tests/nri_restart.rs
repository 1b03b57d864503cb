//! The NRI plugin and containerd alone: one that is killed and started again, and one that requires the plugin.
#![allow(clippy::unwrap_used, missing_docs)]

use std::fs;
use std::path::Path;

use dra_guest_tests::cache::tool;
use dra_guest_tests::process::Process;
use dra_guest_tests::programs::{static_program, workspace};
use dra_guest_tests::runtime::{Client, ContainerdRun, Handler};
use dra_guest_tests::wait;
use serde_json::json;

fn containerd(directory: &Path) -> Process {
    let configuration = directory.join("containerd.toml");
    let path = |name: &str| directory.join(name).display().to_string();
    let text = format!(
        "version = 3\nroot = '{}'\nstate = '{}'\n\
         [grpc]\naddress = '{}'\n[ttrpc]\naddress = '{}'\n[plugins.'io.containerd.nri.v1.nri']\nsocket_path = '{}'\n\
         [plugins.'io.containerd.cri.v1.images']\nsnapshotter = 'native'\n",
        path("root"),
        path("state"),
        path("containerd.sock"),
        path("ttrpc.sock"),
        path("nri.sock")
    );
    fs::write(&configuration, text).unwrap();
    let arguments = ["--config".as_ref(), configuration.as_os_str()];
    Process::start(
        "containerd",
        &tool("containerd").unwrap(),
        arguments,
        directory,
    )
    .unwrap()
}

#[test]
fn a_containerd_that_was_killed_is_connected_to_again() {
    let directory = tempfile::tempdir().unwrap();
    let socket = format!("--socket={}", directory.path().join("nri.sock").display());
    // Before the runtime, as on a node that starts.
    let mut plugin = Process::start(
        "nri",
        &static_program("dra-guest-nri").unwrap(),
        [socket],
        directory.path(),
    )
    .unwrap();
    let connections = || {
        let log = fs::read_to_string(directory.path().join("nri.log")).unwrap();
        log.matches("connected to containerd").count()
    };
    for times in 1..=3 {
        let mut runtime = containerd(directory.path());
        wait::until("the plugin is connected", wait::PATIENCE, || {
            runtime.check()?;
            plugin.check()?;
            Ok((connections() == times).then_some(()))
        })
        .unwrap();
        runtime.kill().unwrap();
    }
}

/// As `docs/nri.md` has it.
const REQUIRED: &str = "
[plugins.'io.containerd.nri.v1.nri'.default_validator]
enable = true
required_plugins = ['dra-guest']
tolerate_missing_plugins_annotation = 'dra-guest.example.com/without-plugin'
";

#[test]
fn a_plugin_that_is_required_and_missing_keeps_containers_from_being_created() {
    let documented = fs::read_to_string(workspace().join("docs/nri.md")).unwrap();
    assert!(documented.contains(REQUIRED.trim()), "docs/nri.md");
    let run = ContainerdRun {
        configuration: REQUIRED.to_owned(),
        ..ContainerdRun::new(Client::Cri, Handler::Runc)
    };
    let refused = run.run().unwrap();
    assert!(!refused.success());
    let words = "required plugin \\\"dra-guest\\\" not present";
    assert!(refused.stderr.contains(words), "{}", refused.stderr);

    let tolerated = ContainerdRun {
        annotations: json!({"dra-guest.example.com/without-plugin": "true"}),
        ..run.clone()
    };
    let outcome = tolerated.run().unwrap();
    assert!(outcome.success(), "{}", outcome.stderr);

    // A pod that asks for it itself.
    let asks = ContainerdRun {
        annotations: json!({"required-plugins.noderesource.dev": "[dra-guest]"}),
        configuration: REQUIRED.replace("required_plugins = ['dra-guest']\n", ""),
        ..run.clone()
    };
    let refused = asks.run().unwrap();
    assert!(refused.stderr.contains(words), "{}", refused.stderr);

    let with_plugin = ContainerdRun {
        plugin: vec![static_program("dra-guest-nri").unwrap().into()],
        ..run
    };
    let outcome = with_plugin.run().unwrap();
    assert!(outcome.success(), "{}", outcome.stderr);
}
