//! Whose files they are, and what root the hook is.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use crate::case::{Case, Expected};
use crate::scene::{FILE, Scene};

/// The first of the container's users, as the node has it.
const FIRST: u32 = 100_000;

fn give(path: &Path, owner: u32) {
    let owners = format!("{owner}:{owner}");
    let mut command = Command::new("chown");
    command
        .args(["--recursive", "--no-dereference", &owners])
        .arg(path);
    assert!(command.status().unwrap().success(), "{command:?}");
}

/// Root of the container is nobody on the node (`hostUsers: false`).
fn user_namespace(scene: &mut Scene) {
    scene.user_namespace = Some(FIRST);
    give(&scene.path("root"), FIRST);
    give(&scene.vm(), FIRST);
    fs::write(scene.path("hook.log"), "").unwrap();
    give(&scene.path("hook.log"), FIRST);
}

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "36_a_user_namespace",
        arrange: user_namespace,
        expected: Expected::Written,
    },
    Case {
        name: "36b_a_user_namespace_and_a_closed_kubelet_directory",
        arrange: |scene| {
            user_namespace(scene);
            // The runtime mounts what is in it as root of the node.
            let closed = fs::Permissions::from_mode(0o700);
            fs::set_permissions(scene.path("kubelet/pods"), closed).unwrap();
        },
        expected: Expected::Written,
    },
    Case {
        name: "36c_a_user_namespace_and_a_vm_mount_of_the_nodes_root",
        arrange: |scene| {
            user_namespace(scene);
            give(&scene.vm(), 0);
        },
        expected: Expected::Refused("Permission denied"),
    },
    Case {
        name: "36d_a_user_namespace_and_a_host_path",
        arrange: |scene| {
            user_namespace(scene);
            let volume = scene.path("host-path");
            fs::create_dir(&volume).unwrap();
            give(&volume, FIRST);
            scene.vm_mount_of(volume);
        },
        expected: Expected::Refused("is not an emptyDir of this pod"),
    },
    Case {
        name: "40_a_document_of_another_user",
        arrange: |scene| {
            let file = scene.vm().join(FILE);
            fs::write(&file, "theirs").unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o4777)).unwrap();
            chown(file, Some(107), Some(107)).unwrap();
        },
        expected: Expected::Written,
    },
    Case {
        name: "40b_a_vm_mount_of_another_user_that_is_closed",
        arrange: |scene| {
            let vm = scene.vm();
            fs::set_permissions(&vm, fs::Permissions::from_mode(0o500)).unwrap();
            chown(vm, Some(107), Some(107)).unwrap();
        },
        expected: Expected::Written,
    },
    Case {
        name: "40c_metadata_that_only_root_may_read",
        arrange: |scene| {
            let file = scene.path("metadata.json");
            fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
        },
        expected: Expected::Written,
    },
];
