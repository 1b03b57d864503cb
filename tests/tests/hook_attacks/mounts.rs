//! What is mounted, is not, or is in the way.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::process::Command;

use dra_guest_tests::runtime::BindMount;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;

use crate::case::{Case, Expected};
use crate::direct::Container;
use crate::scene::{FILE, METADATA, Scene, VM_MOUNT};

/// The VM mount is a file system of the runtime's making; there is no pod to compare it with.
fn vm_mount_of_type(scene: &mut Scene, kind: &str, options: &[&str]) {
    scene.without_vm_mount();
    scene.annotations = json!({});
    fs::create_dir(scene.path("root/run/device-attributes")).unwrap();
    scene.other_mounts.push(json!({
        "destination": VM_MOUNT, "type": kind, "source": kind, "options": options,
    }));
}

/// The image has a link in the VM mount's place, to another mount of the container.
fn link_to_mount(scene: &mut Scene, target: &str) {
    scene.without_vm_mount();
    scene.annotations = json!({});
    symlink(target, scene.path("root/run/device-attributes")).unwrap();
}

fn made(program: &mut Command) {
    let output = program.output().unwrap();
    assert!(output.status.success(), "{program:?}: {output:?}");
}

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "18_no_vm_mount",
        arrange: Scene::without_vm_mount,
        expected: Expected::Refused("is not in the container (No such file or directory"),
    },
    Case {
        name: "18b_a_directory_of_the_image_in_its_place",
        arrange: |scene| {
            scene.without_vm_mount();
            fs::create_dir(scene.path("root/run/device-attributes")).unwrap();
        },
        expected: Expected::Refused("is not a mount of its own"),
    },
    Case {
        name: "18c_a_directory_of_another_mount_in_its_place",
        arrange: |scene| {
            fs::create_dir(scene.vm().join("sub")).unwrap();
            scene.options.push(format!("--vm-mount={VM_MOUNT}/sub"));
        },
        expected: Expected::Refused("is not a mount of its own"),
    },
    Case {
        name: "18d_a_file_in_its_place",
        arrange: |scene| {
            let file = scene.path("file");
            fs::write(&file, "").unwrap();
            scene.vm_mount_of(file);
        },
        expected: Expected::Refused("is not in the container (Not a directory"),
    },
    Case {
        name: "18e_a_fifo_in_its_place",
        arrange: |scene| {
            let fifo = scene.path("fifo");
            made(Command::new("mkfifo").arg(&fifo));
            scene.vm_mount_of(fifo);
        },
        expected: Expected::Refused("is not in the container (Not a directory"),
    },
    Case {
        name: "19_a_read_only_vm_mount",
        arrange: |scene| {
            for mount in &mut scene.mounts {
                mount.read_only = true;
            }
        },
        expected: Expected::Refused("Read-only file system"),
    },
    Case {
        name: "20_a_read_only_root_file_system_is_no_matter",
        arrange: |scene| scene.read_only = true,
        expected: Expected::Written,
    },
    Case {
        name: "22_no_inode_left",
        arrange: |scene| vm_mount_of_type(scene, "tmpfs", &["nr_inodes=1"]),
        expected: Expected::Refused("No space left on device"),
    },
    Case {
        name: "54_something_is_mounted_over_the_document",
        arrange: |scene| {
            let file = scene.path("file");
            fs::write(&file, "").unwrap();
            let over = format!("{VM_MOUNT}/{FILE}");
            scene.mounts.push(BindMount::writable(file, over));
            scene.document = Some(scene.path("none"));
        },
        expected: Expected::Refused("something is mounted in its place"),
    },
    Case {
        name: "54b_the_canary_is_mounted_over_the_document",
        arrange: |scene| {
            let file = scene.path("canary").join(FILE);
            let over = format!("{VM_MOUNT}/{FILE}");
            scene.mounts.push(BindMount::writable(file, over));
            scene.document = Some(scene.path("none"));
        },
        expected: Expected::Refused("something is mounted in its place"),
    },
    Case {
        name: "55_a_mount_below_the_vm_mount_is_no_matter",
        arrange: |scene| {
            let other = scene.path("other");
            fs::create_dir(&other).unwrap();
            let below = format!("{VM_MOUNT}/sockets");
            scene.mounts.push(BindMount::writable(other, below));
        },
        expected: Expected::Written,
    },
    Case {
        name: "56_a_mount_over_the_vm_mount",
        arrange: |scene| {
            let over = scene.path("canary");
            scene.mounts.push(BindMount::writable(over, VM_MOUNT));
        },
        expected: Expected::Refused("is not an emptyDir of this pod"),
    },
    Case {
        name: "57_a_directory_in_the_documents_place",
        arrange: |scene| fs::create_dir(scene.vm().join(FILE)).unwrap(),
        expected: Expected::Refused("a directory stands in its place"),
    },
    Case {
        name: "57b_a_fifo_in_the_documents_place",
        arrange: |scene| made(Command::new("mkfifo").arg(scene.vm().join(FILE))),
        expected: Expected::Written,
    },
    Case {
        name: "57c_a_socket_in_the_documents_place",
        arrange: |scene| {
            let name = scene.vm().join(FILE);
            mknodat(CWD, &name, FileType::Socket, Mode::RWXU, 0).unwrap();
        },
        expected: Expected::Written,
    },
    Case {
        name: "57d_a_device_in_the_documents_place",
        arrange: |scene| {
            let name = scene.vm().join(FILE);
            made(Command::new("mknod").arg(name).args(["c", "1", "3"]));
        },
        expected: Expected::Written,
    },
    Case {
        name: "57e_a_sticky_directory_with_a_file_of_another_user",
        arrange: |scene| {
            let vm = scene.vm();
            fs::write(vm.join(FILE), "theirs").unwrap();
            chown(vm.join(FILE), Some(1000), Some(1000)).unwrap();
            fs::set_permissions(&vm, fs::Permissions::from_mode(0o1777)).unwrap();
            chown(&vm, Some(1000), Some(1000)).unwrap();
        },
        expected: Expected::Written,
    },
    Case {
        name: "57f_a_file_that_cannot_be_changed",
        arrange: |scene| {
            // In memory, so that the flag goes with the file system.
            scene.vm_in_memory();
            fs::write(scene.vm().join(FILE), "fixed").unwrap();
            made(Command::new("chattr").arg("+i").arg(scene.vm().join(FILE)));
        },
        expected: Expected::Refused("cannot be written"),
    },
    Case {
        name: "58_an_overlay_with_the_document_whited_out",
        arrange: |scene| {
            for name in ["lower", "layers", "layers/upper", "layers/work"] {
                fs::create_dir(scene.path(name)).unwrap();
            }
            fs::write(scene.path("lower").join(FILE), "of a lower layer").unwrap();
            let out = scene.path("layers/upper").join(FILE);
            made(Command::new("mknod").arg(out).args(["c", "0", "0"]));
            let options = format!(
                "lowerdir={},upperdir={},workdir={}",
                scene.path("lower").display(),
                scene.path("layers/upper").display(),
                scene.path("layers/work").display()
            );
            vm_mount_of_type(scene, "overlay", &[&options]);
            scene.document = Some(scene.path("layers/upper"));
        },
        expected: Expected::Written,
    },
    Case {
        name: "59_a_link_of_the_image_to_proc_where_no_pod_is_named",
        arrange: |scene| link_to_mount(scene, "/proc"),
        expected: Expected::Refused("cannot be written"),
    },
    Case {
        name: "59b_a_link_of_the_image_to_sysfs_where_no_pod_is_named",
        arrange: |scene| {
            scene.other_mounts.push(json!({
                "destination": "/sys", "type": "sysfs", "source": "sysfs",
            }));
            link_to_mount(scene, "/sys");
        },
        expected: Expected::Refused("cannot be written"),
    },
];

/// The disk fills up in the middle of the document.
fn full_disk() {
    let container = Container::of_size("4k");
    // An older document, and one that is larger than the disk.
    container.run(&[]).assert_done();
    let older = fs::read_to_string(container.vm().join(FILE)).unwrap();
    let number = "\"resource.kubernetes.io/numaNode\"";
    let values = vec!["1"; 5000].join(",");
    let list = format!("\"example.com/list\": {{\"ints\": [{values}]}}, {number}");
    fs::write(
        container.path("metadata.json"),
        METADATA.replacen(number, &list, 1),
    )
    .unwrap();
    for whole in [&[FILE][..], &[]] {
        container.run(&[]).assert_refused("No space left on device");
        assert_eq!(container.vm_files(), whole);
        if !whole.is_empty() {
            assert_eq!(
                fs::read_to_string(container.vm().join(FILE)).unwrap(),
                older
            );
            fs::remove_file(container.vm().join(FILE)).unwrap();
        }
    }
}

/// No quota can be set up on every kernel; the kernel's answer is put in by strace.
fn a_quota_is_used_up() {
    for (call, number, step) in [
        ("openat", 8, "creating a temporary file"),
        // The first says that there is no filter.
        ("write", 2, "write"),
        ("fsync", 1, "fsync"),
        ("renameat", 1, "rename"),
        ("fsync", 2, "fsync of the directory"),
    ] {
        let container = Container::new();
        let inject = format!("inject={call}:error=EDQUOT:when={number}");
        // strace asks for no call at all where it puts in an answer, which the fence does not let pass.
        let open = "inject=seccomp:error=ENOSYS";
        let strace = ["strace", "-o", "/dev/null", "-e", open, "-e", &inject];
        let outcome = container.run_under(&strace, &[]);
        outcome.assert_refused(&format!("cannot be written: {step}: Quota exceeded"));
        let whole: &[&str] = if step == "fsync of the directory" {
            &[FILE]
        } else {
            &[]
        };
        assert_eq!(container.vm_files(), whole, "{call}");
    }
}

pub(crate) const CHECKS: &[(&str, fn())] = &[
    ("22b_no_space_in_the_middle_of_the_document", full_disk),
    ("22c_a_quota_is_used_up", a_quota_is_used_up),
];
