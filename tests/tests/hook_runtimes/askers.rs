//! The other ways to ask for the hook: a `hooks.d` entry, a `base_runtime_spec`, a generated device, the device
//! as `install` puts it on a node.

use dra_guest_tests::runtime::{
    BindMount, Client, ContainerdRun, Handler, OciRuntime, PodmanRun, oracle,
};
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
    let uid = "1f2e3d4c-0000-4000-8000-123456789abc";
    for engine in ENGINES {
        if matches!(engine, Engine::Bundle(_)) {
            continue;
        }
        let mut node = Node::new();
        node.mounts = vec![BindMount::writable(node.path("vm"), VM_MOUNT)];
        node.devices = vec![format!("dra-guest/claim={uid}")];
        let spec = node.generated_spec(uid);
        let outcome = node.start_with(engine, "dra-guest-claim.json", spec);
        assert!(outcome.success(), "{engine:?}: {outcome:?}");
        let document: Value = serde_json::from_str(&outcome.stdout).unwrap();
        let found = document.pointer("/devices/0/claim/uid").unwrap();
        assert_eq!(found, uid, "{engine:?}");
        assert_ne!(outcome.stdout, DOCUMENT);
    }
}

/// Of the lowest version that carries it, and the reference library takes it.
#[test]
fn the_reference_library_injects_the_hook() {
    let node = Node::new();
    let uid = "1f2e3d4c-0000-4000-8000-123456789abc";
    let generated = format!("dra-guest/claim={uid}");
    for (spec, version, device) in [
        (node.spec(), "0.3.0", "dra-guest/vm=attributes"),
        (node.generated_spec(uid), "0.5.0", &generated),
    ] {
        let written: Value = serde_json::from_slice(&spec).unwrap();
        let hook = written
            .pointer("/devices/0/containerEdits/hooks/0")
            .unwrap();
        let injected = oracle::inject("dra-guest.json", &spec, device).unwrap();
        let found = injected.pointer("/hooks/createContainer/0").unwrap();
        for key in ["path", "args", "env", "timeout"] {
            assert_eq!(found[key], hook[key], "{device}: {key}");
        }
        // The library puts an empty mount before those of the device.
        let mounts = written.pointer("/devices/0/containerEdits/mounts");
        for mount in mounts.and_then(Value::as_array).into_iter().flatten() {
            let found = injected.get("mounts").and_then(Value::as_array);
            let found = found.unwrap().iter().find(|found| {
                found["destination"] == mount["containerPath"]
                    && found["source"] == mount["hostPath"]
            });
            assert_eq!(found.unwrap()["options"], mount["options"], "{device}");
        }

        let nothing = oracle::inject("dra-guest.json", &spec, "dra-guest/vm=other").unwrap();
        assert_eq!(nothing.pointer("/hooks/createContainer"), None);
        assert_eq!(written["cdiVersion"], version, "{device}");
        let mut older = written;
        older["cdiVersion"] = "0.2.0".into();
        let older = oracle::inject("dra-guest.json", older.to_string().as_bytes(), device);
        assert_eq!(older.unwrap().pointer("/hooks/createContainer"), None);
    }
}
