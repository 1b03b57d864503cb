//! The other ways to ask for the hook: a `hooks.d` entry, a `base_runtime_spec`, a generated device, the device
//! as `install` puts it on a node.

use std::fs;
use std::process::Command;

use dra_guest_tests::programs::static_program;
use dra_guest_tests::runtime::{BindMount, Client, ContainerdRun, Handler, OciRuntime, PodmanRun};
use serde_json::Value;

use crate::node::{DOCUMENT, ENGINES, Engine, Node, POD, VM_MOUNT, assert_document};

#[test]
fn a_hooks_d_entry_works_by_its_annotation_alone() {
    for (annotation, asked) in [
        ("dra-guest/hook=true", true),
        ("dra-guest/hook=false", false),
        ("other=true", false),
    ] {
        let mut node = Node::new();
        if !asked {
            node.command = vec!["/bin/true".to_owned()];
        }
        let pod = POD.iter().map(|(key, value)| format!("{key}={value}"));
        let outcome = PodmanRun {
            hooks: vec![("dra-guest-vm.json".to_owned(), node.spec_of("hooks.d"))],
            mounts: node.mounts.clone(),
            annotations: pod.chain([annotation.to_owned()]).collect(),
            command: node.command.clone(),
            ..PodmanRun::new(OciRuntime::Crun, node.path("root"))
        }
        .run()
        .unwrap();
        if asked {
            assert_document(&node, &outcome, Engine::Podman(OciRuntime::Crun));
        } else {
            assert!(outcome.success(), "{outcome:?}");
            assert_eq!(node.vm_files(), [""; 0], "{annotation}");
        }
    }
}

#[test]
fn a_base_runtime_spec_works_for_every_container_of_its_handler() {
    for (handler, asked) in [(Handler::BaseRuntimeSpec, true), (Handler::Runc, false)] {
        let mut node = Node::new();
        if !asked {
            node.command = vec!["/bin/true".to_owned()];
        }
        let outcome = ContainerdRun {
            base_hooks: serde_json::from_slice(&node.spec_of("oci")).unwrap(),
            mounts: node.mounts.clone(),
            command: node.command.clone(),
            ..ContainerdRun::new(Client::Cri, handler)
        }
        .run()
        .unwrap();
        if asked {
            assert_document(&node, &outcome, Engine::Containerd(Client::Cri, handler));
        } else {
            assert!(outcome.success(), "{outcome:?}");
            assert_eq!(node.vm_files(), [""; 0]);
        }
    }
}

/// The environment of the container, a stranger's, and a user who is nobody, change nothing.
#[test]
fn the_containers_own_user_and_environment_mean_nothing_to_the_hook() {
    let node = Node::new();
    let outcome = ContainerdRun {
        cdi_specs: vec![("dra-guest-vm.json".to_owned(), node.spec())],
        devices: node.devices.clone(),
        mounts: node.mounts.clone(),
        command: node.command.clone(),
        environment: vec![
            ("DRA_GUEST_LOG".to_owned(), "debug".to_owned()),
            ("LD_PRELOAD".to_owned(), "/nothing.so".to_owned()),
        ],
        read_only: true,
        user: 1000,
        ..ContainerdRun::new(Client::Cri, Handler::Runc)
    }
    .run()
    .unwrap();
    let engine = Engine::Containerd(Client::Cri, Handler::Runc);
    // The C library of the container's own program may complain of the missing library.
    assert_document(&node, &outcome, engine);
    assert!(!node.log().contains(" debug "), "{}", node.log());
}

/// A device whose name starts with a digit, with mounts and the hook, from a claim of a driver that writes
/// no metadata.
#[test]
fn a_generated_device_is_taken_by_every_engine_with_cdi() {
    let case = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../attributes/tests/claims/api-server-1.37-by-kubectl"
    );
    let uid = "1f2e3d4c-0000-4000-8000-123456789abc";
    for engine in ENGINES {
        if matches!(engine, Engine::Bundle(_)) {
            continue;
        }
        let mut node = Node::new();
        node.mounts = vec![BindMount::writable(node.path("vm"), VM_MOUNT)];
        node.devices = vec![format!("dra-guest/claim={uid}")];
        let claim = fs::read(format!("{case}/claim.json")).unwrap();
        let mut claim: Value = serde_json::from_slice(&claim).unwrap();
        *claim.pointer_mut("/metadata/uid").unwrap() = uid.into();
        fs::write(node.path("claim.json"), claim.to_string()).unwrap();
        let hook = static_program("dra-cdi-hook").unwrap();
        let output = Command::new(&hook)
            .arg("generate")
            .arg("--claim")
            .arg(node.path("claim.json"))
            .arg(format!("--slices={case}/slices.json"))
            .arg("--out")
            .arg(node.path("cdi"))
            .arg("--metadata-out")
            .arg(node.path("claims"))
            .arg("--hook-path")
            .arg(&hook)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let spec = fs::read(node.path("cdi").join(format!("dra-guest-claim_{uid}.json"))).unwrap();
        let outcome = node.start_with(engine, "dra-guest-claim.json", spec);
        assert!(outcome.success(), "{engine:?}: {outcome:?}");
        let document: Value = serde_json::from_str(&outcome.stdout).unwrap();
        let found = document.pointer("/devices/0/claim/uid").unwrap();
        assert_eq!(found, uid, "{engine:?}");
        assert_ne!(outcome.stdout, DOCUMENT);
    }
}
