//! Attacks through containerd and podman: what a pod or an image asks for becomes the runtime's paths and mounts by
//! their ways, not by a bundle of the suite's.

use dra_guest_tests::runtime::{Client, OciRuntime};
use libtest_mimic::Trial;

use crate::case::Case;
use crate::start::Engine;

const CRI: Engine = Engine::Containerd(Client::Cri);
const PODMAN: Engine = Engine::Podman(OciRuntime::Crun);
/// It names no pod, and puts a tmpfs of its own over what an image has in `/run`.
const CTR: Engine = Engine::Containerd(Client::Ctr);

/// Cases of each class, by name.
const CASES: &[(&str, &[Engine])] = &[
    (
        "02_a_relative_link_inside_is_the_containers_own",
        &[CRI, PODMAN, CTR],
    ),
    ("03_an_absolute_link_to_the_node", &[CRI, PODMAN]),
    ("05_the_root_of_the_first_process", &[CRI, PODMAN]),
    ("08_the_document_is_a_link_to_the_node", &[CRI, PODMAN]),
    ("53_the_drivers_file_is_the_images", &[CRI, PODMAN]),
    ("18b_a_directory_of_the_image_in_its_place", &[CRI, PODMAN]),
    ("19_a_read_only_vm_mount", &[CRI, PODMAN, CTR]),
    (
        "54b_the_canary_is_mounted_over_the_document",
        &[CRI, PODMAN],
    ),
    // podman refuses two volumes of one place itself.
    ("56_a_mount_over_the_vm_mount", &[CRI]),
    ("21c_the_canary_as_a_host_path", &[CRI, PODMAN]),
    ("21d_an_empty_dir_of_another_pod", &[CRI, PODMAN]),
    ("21h_a_link_of_the_image_to_a_host_path", &[CRI, PODMAN]),
    ("24_variables_that_programs_read", &[CRI, PODMAN]),
    ("34a_a_fifo", &[CRI, PODMAN, CTR]),
    ("40_a_document_of_another_user", &[CRI, PODMAN]),
];

/// One test a case.
pub(crate) fn trials(all: &[&'static Case]) -> Vec<Trial> {
    let trial = |(name, engines): &'static (&str, &[Engine])| {
        let case: &Case = all.iter().find(|case| case.name == *name).unwrap();
        Trial::test(format!("engines::{name}"), || {
            for engine in *engines {
                case.run(*engine, "fail");
            }
            Ok(())
        })
    };
    CASES.iter().map(trial).collect()
}
