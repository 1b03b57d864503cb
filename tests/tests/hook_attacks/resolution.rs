//! Paths that an image made: what its links lead to.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::case::{Case, Expected};
use crate::scene::{FILE, METADATA, METADATA_IN_CONTAINER, METADATA_IN_ROOT, Scene};

const LEADS_NOWHERE: Expected =
    Expected::Refused("is not in the container (No such file or directory");
const MAGIC: Expected = Expected::Refused("cannot be resolved safely");
const NOT_A_MOUNT: Expected = Expected::Refused("is not a mount of its own");

/// The image has a link in the VM mount's place, and nothing is mounted there.
fn link(scene: &mut Scene, target: impl AsRef<Path>) {
    scene.without_vm_mount();
    symlink(target, scene.path("root/run/device-attributes")).unwrap();
}

fn var_run(scene: &Scene, target: &str) {
    fs::remove_file(scene.path("root/var/run")).unwrap();
    symlink(target, scene.path("root/var/run")).unwrap();
}

/// Where the driver's directory would be, the image has this link.
fn metadata_link(scene: &mut Scene, target: impl AsRef<Path>) {
    scene.without_metadata();
    symlink(target, scene.path("root/run/kubernetes.io")).unwrap();
}

/// A metadata tree of the attacker's in the canary.
fn forged(scene: &Scene) -> PathBuf {
    let name = METADATA_IN_CONTAINER
        .strip_prefix("/var/run/kubernetes.io")
        .unwrap();
    let file = scene.path(&format!("canary{name}"));
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, METADATA).unwrap();
    file
}

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "01_an_absolute_link_inside_is_the_containers_own",
        arrange: |_| {},
        expected: Expected::Written,
    },
    Case {
        name: "02_a_relative_link_inside_is_the_containers_own",
        arrange: |scene| var_run(scene, "../run"),
        expected: Expected::Written,
    },
    Case {
        name: "02b_dots_above_the_root_stay_at_the_root",
        arrange: |scene| var_run(scene, "/../../../run"),
        expected: Expected::Written,
    },
    Case {
        name: "03_an_absolute_link_to_the_node",
        arrange: |scene| {
            let canary = scene.path("canary");
            link(scene, canary);
        },
        expected: LEADS_NOWHERE,
    },
    Case {
        name: "04_dots_to_the_node",
        arrange: |scene| {
            let target = format!("../../../../../../../../../{}", scene.canary_path());
            link(scene, target);
        },
        expected: LEADS_NOWHERE,
    },
    Case {
        name: "05_the_root_of_the_first_process",
        arrange: |scene| {
            let target = format!("/proc/1/root/{}", scene.canary_path());
            link(scene, target);
        },
        expected: MAGIC,
    },
    Case {
        name: "05b_the_hooks_own_root",
        arrange: |scene| {
            let target = format!("/proc/self/root/{}", scene.canary_path());
            link(scene, target);
        },
        expected: MAGIC,
    },
    Case {
        name: "05c_the_hooks_working_directory",
        arrange: |scene| link(scene, "/proc/self/cwd"),
        expected: MAGIC,
    },
    Case {
        name: "05d_a_descriptor_of_the_hook",
        arrange: |scene| link(scene, "/proc/self/fd/0"),
        expected: MAGIC,
    },
    Case {
        name: "05e_a_descriptor_of_a_thread_of_the_first_process",
        arrange: |scene| link(scene, "/proc/1/task/1/fd/3"),
        expected: Expected::Refused("/var/run/device-attributes "),
    },
    Case {
        name: "06_a_link_to_the_containers_root",
        arrange: |scene| link(scene, "/"),
        expected: NOT_A_MOUNT,
    },
    Case {
        name: "06b_a_link_to_a_directory_of_the_image",
        arrange: |scene| link(scene, "/etc"),
        expected: NOT_A_MOUNT,
    },
    Case {
        name: "06c_a_link_to_the_containers_proc",
        arrange: |scene| link(scene, "/proc"),
        expected: Expected::Refused("is not an emptyDir of this pod"),
    },
    Case {
        name: "07_a_link_to_itself",
        arrange: |scene| link(scene, "device-attributes"),
        expected: MAGIC,
    },
    Case {
        name: "07b_forty_one_links",
        arrange: |scene| {
            for number in 0..41 {
                let name = scene.path(&format!("root/run/l{number}"));
                symlink(format!("l{}", number + 1), name).unwrap();
            }
            fs::create_dir(scene.path("root/run/l41")).unwrap();
            link(scene, "l0");
        },
        expected: MAGIC,
    },
    Case {
        name: "08_the_document_is_a_link_to_the_node",
        arrange: |scene| {
            symlink(scene.path("canary").join(FILE), scene.vm().join(FILE)).unwrap();
        },
        expected: Expected::Written,
    },
    Case {
        name: "09_the_document_is_a_link_to_no_file_yet",
        arrange: |scene| {
            symlink(scene.path("canary/new"), scene.vm().join(FILE)).unwrap();
        },
        expected: Expected::Written,
    },
    Case {
        name: "10_the_document_is_another_name_of_a_file_of_the_node",
        arrange: |scene| {
            let (file, name) = (scene.path("canary").join(FILE), scene.vm().join(FILE));
            fs::hard_link(file, name).unwrap();
            scene.shared_name = true;
        },
        expected: Expected::Written,
    },
    Case {
        name: "11_a_part_of_the_path_is_a_file",
        arrange: |scene| {
            fs::write(scene.path("root/srv"), "").unwrap();
            scene.option("--vm-mount", Path::new("/srv/vm"));
        },
        expected: Expected::Refused("is not in the container (Not a directory"),
    },
    Case {
        name: "12_a_name_that_is_too_long",
        arrange: |scene| {
            let name = format!("/{}", "x".repeat(256));
            scene.option("--vm-mount", Path::new(&name));
        },
        expected: Expected::Refused("cannot be resolved safely: Filename too long"),
    },
    Case {
        name: "12b_a_path_that_is_too_long",
        arrange: |scene| {
            let name = "/x".repeat(2100);
            scene.option("--vm-mount", Path::new(&name));
        },
        expected: Expected::Refused("cannot be resolved safely: Filename too long"),
    },
    Case {
        name: "50_the_drivers_directory_is_a_link_to_the_node",
        arrange: |scene| {
            forged(scene);
            let canary = scene.path("canary");
            metadata_link(scene, canary);
        },
        expected: Expected::Nothing("the container has no DRA metadata"),
    },
    Case {
        name: "51_the_drivers_directory_is_a_magic_link",
        arrange: |scene| {
            forged(scene);
            let target = format!("/proc/1/root/{}", scene.canary_path());
            metadata_link(scene, target);
        },
        expected: MAGIC,
    },
    Case {
        name: "52_the_drivers_file_is_a_link_to_the_node",
        arrange: |scene| {
            let file = forged(scene);
            scene.without_metadata();
            let name = scene.path(METADATA_IN_ROOT);
            fs::create_dir_all(name.parent().unwrap()).unwrap();
            symlink(file, name).unwrap();
        },
        expected: Expected::Nothing("the container has no DRA metadata"),
    },
    Case {
        name: "53_the_drivers_file_is_the_images",
        arrange: |scene| {
            scene.without_metadata();
            let name = scene.path(METADATA_IN_ROOT);
            fs::create_dir_all(name.parent().unwrap()).unwrap();
            fs::write(name, METADATA).unwrap();
        },
        expected: Expected::Nothing("is not a mount of its own"),
    },
];
