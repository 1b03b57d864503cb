//! The hook's shipped binary under runc, crun, youki, podman and containerd.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod askers;
mod node;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use dra_guest_tests::runtime::{OciRuntime, TreeState};
use node::{ENGINES, Engine, METADATA, METADATA_IN_CONTAINER, Node, VM_MOUNT, assert_document};
use serde_json::{Value, json};

#[test]
fn the_document_reaches_the_vm_mount_under_every_runtime() {
    for engine in ENGINES {
        let node = Node::new();
        let outcome = node.start(engine);
        assert_document(&node, &outcome, engine);
        assert!(node.log().contains(" info "), "{engine:?}: {}", node.log());
    }
}

#[test]
fn a_second_start_leaves_the_same_bytes() {
    for engine in ENGINES {
        let node = Node::new();
        let first = node.start(engine);
        assert_document(&node, &first, engine);
        let before = TreeState::of(&node.path("vm")).unwrap();
        let second = node.start(engine);
        assert_document(&node, &second, engine);
        assert_eq!(
            TreeState::of(&node.path("vm")).unwrap(),
            before,
            "{engine:?}"
        );
    }
}

#[test]
fn a_hook_that_runs_twice_leaves_the_same_bytes() {
    for runtime in [OciRuntime::Runc, OciRuntime::Crun, OciRuntime::Youki] {
        let node = Node::new();
        let outcome = node
            .bundle(vec![node.hook(), node.hook()])
            .run(runtime)
            .unwrap();
        assert_document(&node, &outcome, Engine::Bundle(runtime));
        assert_eq!(node.log().lines().count(), 2, "{}", node.log());
    }
}

#[test]
fn an_older_file_in_the_vm_mount_is_replaced_and_never_followed() {
    for engine in ENGINES {
        let node = Node::new();
        let canary = TreeState::of(&node.path("canary")).unwrap();
        symlink(
            node.path("canary/device-attributes.json"),
            node.path("vm/device-attributes.json"),
        )
        .unwrap();
        let outcome = node.start(engine);
        assert_document(&node, &outcome, engine);
        assert_eq!(
            TreeState::of(&node.path("canary")).unwrap(),
            canary,
            "{engine:?}"
        );
    }
}

#[test]
fn a_vm_mount_that_is_no_mount_keeps_the_container_from_starting() {
    for engine in ENGINES {
        let node = Node::new().without_vm_mount();
        fs::create_dir(node.path("root/run/device-attributes")).unwrap();
        let canary = TreeState::of(&node.path("canary")).unwrap();
        let outcome = node.start(engine);
        assert!(!outcome.success(), "{engine:?}: {outcome:?}");
        assert_eq!(outcome.stdout, "", "{engine:?}: the container ran");
        let reason = match engine {
            // It starts the image of its own, which has no such directory.
            Engine::Containerd(..) => {
                "the VM mount /var/run/device-attributes is not in the container"
            }
            _ => "the VM mount /var/run/device-attributes is not a mount of its own",
        };
        assert!(node.log().contains(reason), "{engine:?}: {}", node.log());
        if engine == Engine::Bundle(OciRuntime::Runc) {
            assert!(outcome.stderr.contains(reason), "{engine:?}: {outcome:?}");
        }
        let left = fs::read_dir(node.path("root/run/device-attributes"))
            .unwrap()
            .count();
        assert_eq!(left, 0, "{engine:?}");
        assert_eq!(
            TreeState::of(&node.path("canary")).unwrap(),
            canary,
            "{engine:?}"
        );
    }
}

#[test]
fn links_of_the_image_do_not_lead_to_the_node() {
    for engine in ENGINES {
        for (name, target) in [
            ("absolute", "CANARY".to_owned()),
            ("dots", "../../../../../../../../CANARY".to_owned()),
            ("proc", "/proc/1/root/CANARY".to_owned()),
        ] {
            let node = Node::new().without_vm_mount();
            let canary_path = node.path("canary");
            let relative = canary_path.strip_prefix("/").unwrap().display().to_string();
            let target = target
                .replace("/CANARY", &format!("/{relative}"))
                .replace("CANARY", &format!("/{relative}"));
            symlink(&target, node.path("root/run/device-attributes")).unwrap();
            let canary = TreeState::of(&canary_path).unwrap();
            let outcome = node.start(engine);
            assert!(!outcome.success(), "{engine:?} {name}: {outcome:?}");
            assert_eq!(outcome.stdout, "", "{engine:?} {name}: the container ran");
            assert!(
                node.log().contains(" error "),
                "{engine:?} {name}: {}",
                node.log()
            );
            assert_eq!(
                TreeState::of(&canary_path).unwrap(),
                canary,
                "{engine:?} {name}"
            );
        }
    }
}

#[test]
fn metadata_that_the_image_ships_is_not_believed() {
    for engine in ENGINES {
        // Its image is not the test's.
        if matches!(engine, Engine::Containerd(..)) {
            continue;
        }
        let mut node = Node::new();
        node.mounts.retain(|mount| mount.destination == VM_MOUNT);
        let inside = node.path("root/run").join(
            Path::new(METADATA_IN_CONTAINER)
                .strip_prefix("/var/run")
                .unwrap(),
        );
        fs::create_dir_all(inside.parent().unwrap()).unwrap();
        fs::write(&inside, METADATA).unwrap();
        node.command = vec!["/bin/true".to_owned()];
        let outcome = node.start(engine);
        assert!(outcome.success(), "{engine:?}: {outcome:?}\n{}", node.log());
        assert_eq!(node.vm_files(), [""; 0], "{engine:?}");
        assert!(
            node.log().contains("the image"),
            "{engine:?}: {}",
            node.log()
        );
    }
}

#[test]
fn a_container_without_metadata_starts_and_gets_no_document() {
    for engine in ENGINES {
        let mut node = Node::new().without_vm_mount();
        node.mounts.clear();
        node.command = vec!["/bin/true".to_owned()];
        let outcome = node.start(engine);
        assert!(outcome.success(), "{engine:?}: {outcome:?}\n{}", node.log());
        assert!(
            node.log().contains("nothing is written"),
            "{engine:?}: {}",
            node.log()
        );
    }
}

#[test]
fn broken_metadata_stops_the_container_unless_told_to_skip() {
    for engine in ENGINES {
        let mut node = Node::new();
        fs::write(node.path("metadata.json"), r#"{"kind":"DeviceMetadata","#).unwrap();
        let outcome = node.start(engine);
        assert!(!outcome.success(), "{engine:?}: {outcome:?}");
        let log = node.log();
        assert!(
            log.contains("sriov.example.com-metadata.json") && log.contains("cut"),
            "{engine:?}: {log}"
        );
        node.hook_options
            .extend(["--on-error".to_owned(), "skip".to_owned()]);
        node.command = vec!["/bin/true".to_owned()];
        let outcome = node.start(engine);
        assert!(outcome.success(), "{engine:?}: {outcome:?}\n{}", node.log());
        assert_eq!(node.vm_files(), [""; 0], "{engine:?}");
    }
}

#[test]
fn a_read_only_root_is_no_obstacle() {
    for engine in ENGINES {
        // podman has none for a root file system that it was given.
        if matches!(engine, Engine::Podman(_)) {
            continue;
        }
        let mut node = Node::new();
        node.read_only = true;
        let outcome = node.start(engine);
        assert_document(&node, &outcome, engine);
    }
}

#[test]
fn containers_that_start_at_once_on_one_volume_leave_the_same_bytes() {
    for engine in [
        Engine::Bundle(OciRuntime::Runc),
        Engine::Bundle(OciRuntime::Crun),
        Engine::Bundle(OciRuntime::Youki),
    ] {
        let node = Node::new();
        let outcomes = std::thread::scope(|scope| {
            let runs = [0; 4].map(|_| scope.spawn(|| node.start(engine)));
            runs.map(|run| run.join().unwrap())
        });
        for outcome in outcomes {
            assert_document(&node, &outcome, engine);
        }
    }
}

/// A library whose constructor makes a file on the node, preloaded by the container's environment:
/// runc before 1.3 hands that environment to a hook that has none of its own (CVE-2025-23266).
#[test]
fn a_preloaded_library_of_the_image_does_nothing() {
    let node = Node::new();
    let owned = node.path("canary/owned");
    let source = node.path("preload.c");
    fs::write(
        &source,
        format!(
            "#include <fcntl.h>\n__attribute__((constructor)) static void own(void) {{ open({:?}, O_CREAT | O_WRONLY, 0600); }}\n",
            owned.display().to_string()
        ),
    )
    .unwrap();
    let library = node.path("root/preload.so");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .status()
        .unwrap();
    assert!(compiled.success());
    let run = |hook: Value| {
        let mut bundle = node.bundle(vec![hook]);
        bundle
            .environment
            .push("LD_PRELOAD=/proc/self/cwd/preload.so".to_owned());
        bundle.run(OciRuntime::Runc).unwrap()
    };
    let mut hook = node.hook();
    assert!(hook.as_object_mut().unwrap().remove("env").is_some());
    let outcome = run(hook);
    assert_document(&node, &outcome, Engine::Bundle(OciRuntime::Runc));
    assert!(!owned.exists(), "the hook loaded the image's library");

    // The same situation with a dynamic program: the attack is a real one here.
    run(json!({"path": "/bin/true", "args": ["true"]}));
    assert!(
        owned.exists(),
        "this runc clears the environment: the test shows nothing"
    );
}
