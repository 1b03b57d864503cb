//! The hook as a deputy that is to be confused: volumes of others in the VM mount's place.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use dra_guest_tests::runtime::BindMount;
use serde_json::json;

use crate::case::{Case, Expected};
use crate::scene::{Scene, UID};

const REFUSED: Expected = Expected::Refused(
    "is not an emptyDir of this pod, …/pods/5f0c9a34-5f0e-4d6a-8a3e-3f9c1e9d1b52/volumes/kubernetes.io~empty-dir/NAME",
);
const OTHER: &str = "11111111-2222-3333-4444-555555555555";

fn any(scene: &mut Scene) {
    scene.options.push("--vm-mount-source=any".to_owned());
}

fn host_path(scene: &mut Scene) {
    let volume = scene.path("host-path");
    fs::create_dir(&volume).unwrap();
    scene.vm_mount_of(&volume);
    scene.document = Some(volume);
}

/// The image has a link in the VM mount's place, to another mount of the container.
fn link_to_mount_of(scene: &mut Scene, source: &Path) {
    scene.without_vm_mount();
    scene.mounts.insert(0, BindMount::writable(source, "/data"));
    symlink("/data", scene.path("root/run/device-attributes")).unwrap();
}

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "21_a_host_path",
        arrange: host_path,
        expected: REFUSED,
    },
    Case {
        name: "21a_a_host_path_that_the_administrator_allows",
        arrange: |scene| {
            host_path(scene);
            any(scene);
        },
        expected: Expected::Written,
    },
    Case {
        name: "21b_a_host_path_where_no_pod_is_named",
        arrange: |scene| {
            host_path(scene);
            scene.annotations = json!({"io.podman.annotations.init": "FALSE"});
        },
        expected: Expected::Written,
    },
    Case {
        name: "21c_the_canary_as_a_host_path",
        arrange: |scene| {
            let canary = scene.path("canary");
            scene.vm_mount_of(canary);
        },
        expected: REFUSED,
    },
    Case {
        name: "21d_an_empty_dir_of_another_pod",
        arrange: |scene| {
            let volume = scene.volume(OTHER, "kubernetes.io~empty-dir", "vm");
            scene.vm_mount_of(volume);
        },
        expected: REFUSED,
    },
    Case {
        name: "21e_a_directory_of_another_pod_by_dots",
        arrange: |scene| {
            scene.volume(OTHER, "kubernetes.io~empty-dir", "vm");
            let dots = format!("../../../../{OTHER}/volumes/kubernetes.io~empty-dir/vm");
            let volume = scene.vm().join(dots);
            scene.vm_mount_of(volume);
        },
        expected: REFUSED,
    },
    Case {
        name: "21f_a_volume_of_another_kind",
        arrange: |scene| {
            let volume = scene.volume(UID, "kubernetes.io~nfs", "vm");
            scene.vm_mount_of(volume);
        },
        expected: REFUSED,
    },
    Case {
        name: "21g_a_directory_in_an_empty_dir",
        arrange: |scene| {
            let volume = scene.vm().join("sub");
            fs::create_dir(&volume).unwrap();
            scene.vm_mount_of(volume);
        },
        expected: REFUSED,
    },
    Case {
        name: "21h_a_link_of_the_image_to_a_host_path",
        arrange: |scene| {
            let canary = scene.path("canary");
            link_to_mount_of(scene, &canary);
            // The pod's own volume is in the container too, elsewhere.
            scene
                .mounts
                .insert(0, BindMount::writable(scene.vm(), "/elsewhere"));
        },
        expected: REFUSED,
    },
    Case {
        name: "21i_a_link_of_the_image_to_another_empty_dir_of_the_pod",
        arrange: |scene| {
            let volume = scene.volume(UID, "kubernetes.io~empty-dir", "scratch");
            link_to_mount_of(scene, &volume);
            scene.document = Some(volume);
        },
        expected: Expected::Written,
    },
    Case {
        name: "21j_a_pod_that_cri_o_names",
        arrange: |scene| {
            let canary = scene.path("canary");
            scene.vm_mount_of(canary);
            scene.annotations = json!({
                "io.kubernetes.cri-o.ContainerType": "container",
                "io.kubernetes.pod.namespace": "default",
                "io.kubernetes.pod.name": "virt-launcher-vm-x7k",
                "io.kubernetes.pod.uid": UID,
            });
        },
        expected: REFUSED,
    },
    Case {
        name: "21k_a_pod_without_uid",
        arrange: |scene| {
            host_path(scene);
            scene.annotations = json!({
                "io.kubernetes.cri.sandbox-namespace": "default",
                "io.kubernetes.cri.sandbox-name": "virt-launcher-vm-x7k",
            });
        },
        expected: Expected::Refused("is not an emptyDir of this pod, …/pods/*/volumes/"),
    },
    Case {
        name: "33_a_pod_of_hostile_names",
        arrange: |scene| {
            host_path(scene);
            scene.annotations = json!({
                "io.kubernetes.cri.sandbox-namespace": "default",
                "io.kubernetes.cri.sandbox-name": "a\n2026-01-01T00:00:00Z error c: forged\u{1b}[2J",
                "io.kubernetes.cri.sandbox-uid": "../../../etc",
            });
        },
        expected: Expected::Refused("is not an emptyDir of this pod, …/pods/*/volumes/"),
    },
];
