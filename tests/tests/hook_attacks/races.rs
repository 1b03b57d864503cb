//! What changes while the hook runs: ten thousand runs beside a thread that swaps.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use dra_guest_tests::runtime::TreeState;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::count;
use crate::direct::{Container, Run};
use crate::scene::{FILE, METADATA};

const RUNS: usize = 10_000;
/// A mount or an unmount waits for the kernel's other processors, a thousand times as long as a rename.
const RUNS_BESIDE_MOUNTS: usize = 1_000;

/// How many runs ended well, and how many were refused.
struct Ended {
    done: usize,
    refused: usize,
}

impl Ended {
    /// Both ends were met: the swaps hit.
    #[track_caller]
    fn assert_both(&self) {
        assert!(
            self.done > 0 && self.refused > 0,
            "{} and {}",
            self.done,
            self.refused
        );
    }
}

/// Runs the hook so often while `swap` is repeated without end, then looks at the canary.
fn race(
    container: &Container,
    runs: usize,
    options: &[&str],
    swap: impl Fn() + Sync,
    check: impl Fn(&Run),
) -> Ended {
    let before = TreeState::of(&container.path("canary")).unwrap();
    let over = AtomicBool::new(false);
    let mut ended = Ended {
        done: 0,
        refused: 0,
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                swap();
            }
        });
        // The swaps end even when a run is not as it should be.
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..runs {
                let run = container.run(options);
                match run.code {
                    Some(0) => ended.done += 1,
                    Some(1) => ended.refused += 1,
                    _ => panic!("{run:?}"),
                }
                check(&run);
            }
        }));
        over.store(true, Ordering::Relaxed);
        if let Err(panic) = result {
            std::panic::resume_unwind(panic);
        }
    });
    count::compare(&before, &container.canary(), "races");
    ended
}

fn exchange(one: &Path, other: &Path) {
    let _ = renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE);
}

/// The directory above the VM mount and a link to the canary change places.
fn the_way_there() {
    let mut container = Container::new();
    // The canary's directory is a mount as well: only where the path is resolved saves it.
    let outside = container.path("canary/vm");
    container.bind(&outside, &outside);
    let (current, evil) = (container.root("srv/current"), container.root("srv/evil"));
    let vm = container.vm();
    container.bind(&vm, &current.join("vm"));
    symlink(container.path("canary"), &evil).unwrap();
    let options = ["--vm-mount=/srv/current/vm"];
    let swap = || exchange(&current, &evil);
    race(&container, RUNS, &options, swap, |_| ()).assert_both();
    assert_eq!(container.vm_files(), [FILE]);
    container.assert_document();
}

/// What stands under the document's name changes all the time.
fn the_document() {
    let container = Container::new();
    let (file, canary) = (
        container.vm().join(FILE),
        container.path("canary").join(FILE),
    );
    let others = [
        container.vm().join("1"),
        container.vm().join("2"),
        container.vm().join("3"),
    ];
    symlink(&canary, &others[0]).unwrap();
    fs::create_dir(&others[1]).unwrap();
    let fifo = std::process::Command::new("mkfifo")
        .arg(&others[2])
        .status();
    assert!(fifo.unwrap().success());
    let swap = || {
        for other in &others {
            exchange(&file, other);
        }
    };
    race(&container, RUNS, &[], swap, |_| ()).assert_both();
}

/// Whoever has the VM mount puts a link to the canary in the place of each temporary file.
fn the_temporary_file() {
    let container = Container::new();
    let canary = container.path("canary").join(FILE);
    let swap = || {
        for entry in fs::read_dir(container.vm()).unwrap().flatten() {
            let name = entry.file_name();
            if name
                .to_string_lossy()
                .starts_with(".device-attributes.json.")
            {
                let _ = fs::remove_file(entry.path());
                let _ = symlink(&canary, entry.path());
            } else {
                let _ = fs::remove_file(entry.path());
            }
        }
    };
    race(&container, RUNS, &[], swap, |_| ());
}

/// Directories on the way are renamed without end, so that the kernel gives up at each `..`.
/// A path with dots: a link of the image, as an option takes none.
fn way(container: &Container, target: &str) {
    symlink(target, container.root("way")).unwrap();
}

const OVER_THE_WAY: [&str; 1] = ["--vm-mount=/way"];

fn a_storm_of_renames() {
    let container = Container::new();
    let (one, other) = (container.root("run/1"), container.root("run/2"));
    fs::create_dir(&one).unwrap();
    fs::create_dir(&other).unwrap();
    fs::create_dir(container.root("run/x")).unwrap();
    let dots = "/x/..".repeat(20);
    way(&container, &format!("/run{dots}/device-attributes"));
    let swap = || exchange(&one, &other);
    let check = |run: &Run| {
        let told = run.code == Some(0) || run.stderr.contains("were renamed all the time");
        assert!(told, "{run:?}");
    };
    assert!(race(&container, RUNS, &OVER_THE_WAY, swap, check).done > 0);
    container.assert_document();
}

fn a_storm_of_mounts() {
    let container = Container::new();
    let place = container.root("mnt");
    fs::create_dir(&place).unwrap();
    fs::create_dir(container.root("run/x")).unwrap();
    way(&container, "/run/x/../device-attributes");
    let swap = || {
        mount("tmpfs", &place, "tmpfs", MountFlags::empty(), None).unwrap();
        unmount(&place, UnmountFlags::DETACH).unwrap();
    };
    let check = |run: &Run| {
        let told = run.code == Some(0) || run.stderr.contains("were renamed all the time");
        assert!(told, "{run:?}");
    };
    assert!(race(&container, RUNS_BESIDE_MOUNTS, &OVER_THE_WAY, swap, check).done > 0);
    container.assert_document();
}

/// The VM mount comes and goes: what is below it is never written to.
fn the_vm_mount_comes_and_goes() {
    let mut container = Container::new();
    let (volume, place) = (container.vm(), container.root("run/coming"));
    fs::create_dir(&place).unwrap();
    container.bind(&container.path("metadata.json"), &container.path("none"));
    let swap = || {
        rustix::mount::mount_bind(&volume, &place).unwrap();
        unmount(&place, UnmountFlags::DETACH).unwrap();
    };
    let options = ["--vm-mount=/run/coming"];
    race(&container, RUNS_BESIDE_MOUNTS, &options, swap, |_| ());
    assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
}

/// A directory of the path is moved out of the root file system while it is walked.
fn a_directory_moved_outside() {
    let container = Container::new();
    for name in ["bundle/rootfs/srv/deep/er", "outside/deep/er"] {
        fs::create_dir_all(container.path(name)).unwrap();
    }
    let (inside, outside) = (container.root("srv/deep"), container.path("outside/deep"));
    // Above the outside directory there is a canary of the VM mount's name.
    symlink(container.path("canary"), container.path("run")).unwrap();
    way(&container, "/srv/deep/er/../../../run/device-attributes");
    let swap = || exchange(&inside, &outside);
    assert!(race(&container, RUNS, &OVER_THE_WAY, swap, |_| ()).done > 0);
    container.assert_document();
}

/// The driver's directory and a link to a forged one change places; so do directories.
fn the_drivers_directory() {
    let mut container = Container::new();
    let forged = METADATA.replace("02:00:00:4e:92:87", "02:00:00:00:de:ad");
    assert_ne!(forged, METADATA);
    let source = container.path("forged.json");
    fs::write(&source, forged).unwrap();
    let name = "resourceclaimtemplates/nic/vf/sriov.example.com-metadata.json";
    // Outside, a mount as a driver makes it; inside, a file of the image.
    let outside = container.path("canary").join(name);
    container.bind(&source, &outside);
    let images = container.root("run/images").join(name);
    fs::create_dir_all(images.parent().unwrap()).unwrap();
    fs::copy(&source, &images).unwrap();
    let claims = container.root("run/kubernetes.io/dra-device-attributes/resourceclaimtemplates");
    let link = container.root("run/link");
    symlink(container.path("canary/resourceclaimtemplates"), &link).unwrap();
    let images = container.root("run/images/resourceclaimtemplates");
    let swap = || {
        exchange(&claims, &link);
        exchange(&claims, &images);
    };
    let document = container.vm().join(FILE);
    let check = |_: &Run| {
        let text = fs::read_to_string(&document).unwrap_or_default();
        assert!(!text.contains("de:ad"), "{text}");
    };
    assert!(race(&container, RUNS, &[], swap, check).done > 0);
}

/// The driver's file grows, shrinks and changes while it is read.
fn the_drivers_file() {
    let container = Container::new();
    let source = container.path("metadata.json");
    let swap = || {
        let mut file = File::create(&source).unwrap();
        let _ = file.write_all(METADATA.as_bytes());
        let _ = file.write_all(&vec![b' '; 70_000]);
        let _ = file.set_len(METADATA.len() as u64);
        let _ = file.write_all(b"x");
    };
    let document = container.vm().join(FILE);
    race(&container, RUNS, &[], swap, |run| {
        if run.code == Some(0) && document.exists() {
            container.assert_document();
        }
    });
}

pub(crate) const CHECKS: &[(&str, fn())] = &[
    ("13_the_way_to_the_vm_mount", the_way_there),
    ("13b_the_document_during_the_write", the_document),
    ("14_the_temporary_file", the_temporary_file),
    ("15_a_storm_of_renames", a_storm_of_renames),
    ("16_a_storm_of_mounts", a_storm_of_mounts),
    (
        "16b_the_vm_mount_comes_and_goes",
        the_vm_mount_comes_and_goes,
    ),
    ("17_a_directory_moved_outside", a_directory_moved_outside),
    ("43_the_drivers_directory", the_drivers_directory),
    ("44_the_drivers_file", the_drivers_file),
];
