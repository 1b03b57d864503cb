//! The document follows what the driver writes, and nothing that a container does leads it astray.

use std::fs;
use std::os::unix::fs::symlink;

use crate::node::{METADATA, Node, POD_UID, hook, pod, wait};
use crate::runtime::Runtime;

fn newer(generation: u32, address: &str) -> String {
    let text = METADATA.replace(
        "\"generation\": 2",
        &format!("\"generation\": {generation}"),
    );
    let text = text.replace("192.0.2.5/24", address);
    assert!(text.contains(address));
    text
}

#[test]
fn a_driver_that_writes_anew_is_followed() {
    let node = Node::new(&[]);
    let mut runtime = Runtime::accept(&node.listener);
    runtime.create(&pod(), &node.compute());
    fs::write(node.metadata(), newer(3, "192.0.2.7/24")).unwrap();
    let document = node.wait_for_document("192.0.2.7/24");
    assert!(document.contains(POD_UID), "{document}");
    // As a driver that replaces its file.
    let new = node.metadata().with_extension("new");
    fs::write(&new, newer(4, "192.0.2.8/24")).unwrap();
    fs::rename(new, node.metadata()).unwrap();
    node.wait_for_document("192.0.2.8/24");
}

#[test]
fn only_what_the_hook_may_say_is_said() {
    let node = Node::new(&["--export=vendor.example.com/nothing"]);
    let mut runtime = Runtime::accept(&node.listener);
    runtime.create(&pod(), &node.compute());
    fs::write(node.metadata(), newer(3, "192.0.2.7/24")).unwrap();
    let document = node.wait_for_document("192.0.2.7/24");
    assert!(!document.contains("\"attributes\""), "{document}");
}

#[test]
fn a_file_that_is_half_written_is_waited_for() {
    let node = Node::new(&[]);
    let mut runtime = Runtime::accept(&node.listener);
    runtime.create(&pod(), &node.compute());
    fs::write(node.metadata(), newer(3, "192.0.2.7/24")).unwrap();
    let before = node.wait_for_document("192.0.2.7/24");
    fs::write(node.metadata(), &METADATA[..METADATA.len() / 2]).unwrap();
    node.wait_for_log("its document stays as it is");
    assert_eq!(fs::read_to_string(node.document()).unwrap(), before);
    fs::write(node.metadata(), newer(4, "192.0.2.8/24")).unwrap();
    node.wait_for_document("192.0.2.8/24");
}

#[test]
fn a_plugin_that_was_killed_finds_its_containers_again() {
    let mut node = Node::new(&[]);
    let wish = {
        let mut runtime = Runtime::accept(&node.listener);
        runtime.create(&pod(), &node.compute())
    };
    node.restart(&[]);
    // Written while nobody looked.
    fs::write(node.metadata(), newer(3, "192.0.2.7/24")).unwrap();
    let mut runtime = Runtime::accept(&node.listener);
    runtime.synchronize(&[(pod(), node.running(wish))]);
    node.wait_for_document("192.0.2.7/24");
    fs::write(node.metadata(), newer(4, "192.0.2.8/24")).unwrap();
    node.wait_for_document("192.0.2.8/24");
}

#[test]
fn a_container_that_had_no_hook_is_left_alone() {
    let node = Node::new(&[]);
    let mut runtime = Runtime::accept(&node.listener);
    runtime.synchronize(&[(pod(), node.compute())]);
    node.wait_for_log("kept up to date: 0");
    assert!(!node.document().exists());
}

#[test]
fn a_container_that_is_gone_is_forgotten() {
    for older in [false, true] {
        let node = Node::new(&[]);
        let mut runtime = Runtime::accept(&node.listener);
        runtime.create(&pod(), &node.compute());
        if older {
            runtime.state_change(11, &node.compute());
        } else {
            runtime.remove(&node.compute());
        }
        // Another container of the same files, which is kept up to date, tells when the time was over.
        let mut other = node.compute();
        other.id = "decaf".to_owned();
        let volume = node
            .path("kubelet/pods")
            .join(POD_UID)
            .join("volumes/kubernetes.io~empty-dir/other");
        fs::create_dir(&volume).unwrap();
        other.mounts[1].source = volume.display().to_string();
        runtime.create(&pod(), &other);
        fs::write(node.metadata(), newer(3, "192.0.2.7/24")).unwrap();
        wait("the other's document", || {
            volume.join("device-attributes.json").exists()
        });
        assert!(!node.document().exists());
    }
}

#[test]
fn no_link_in_the_volume_leads_elsewhere() {
    let node = Node::new(&[]);
    let mut runtime = Runtime::accept(&node.listener);
    let victim = node.path("victim");
    fs::write(&victim, "untouched").unwrap();
    symlink(&victim, node.document()).unwrap();
    runtime.create(&pod(), &node.compute());
    fs::write(node.metadata(), newer(3, "192.0.2.7/24")).unwrap();
    node.wait_for_document("192.0.2.7/24");
    assert_eq!(fs::read_to_string(&victim).unwrap(), "untouched");
    assert!(!fs::symlink_metadata(node.document()).unwrap().is_symlink());
}

#[test]
fn a_volume_elsewhere_gets_no_document() {
    let node = Node::new(&[]);
    let elsewhere = node.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let linked = node.volume().with_file_name("linked");
    symlink(&elsewhere, &linked).unwrap();
    let other_pod = node.path("kubelet/pods/00000000-0000-4000-8000-000000000000/volumes/v");
    fs::create_dir_all(&other_pod).unwrap();
    let dotted = node
        .volume()
        .join("../../../../00000000-0000-4000-8000-000000000000/volumes/v");
    let mut runtime = Runtime::accept(&node.listener);
    for (number, source) in [&elsewhere, &linked, &other_pod, &dotted]
        .into_iter()
        .enumerate()
    {
        let mut container = node.compute();
        container.id = format!("c{number}");
        container.mounts[1].source = source.display().to_string();
        assert!(hook(&runtime.create(&pod(), &container)).is_some());
    }
    fs::write(node.metadata(), newer(3, "192.0.2.7/24")).unwrap();
    wait("four refusals", || {
        node.log().matches("is not kept up to date").count() == 4
    });
    for directory in [elsewhere, other_pod] {
        assert_eq!(fs::read_dir(directory).unwrap().count(), 0);
    }
}

#[test]
fn metadata_elsewhere_is_not_read() {
    let node = Node::new(&[]);
    let secret = node.path("secret.json");
    fs::write(&secret, METADATA).unwrap();
    let linked = node.metadata().with_file_name("linked-metadata.json");
    symlink(&secret, &linked).unwrap();
    let mut runtime = Runtime::accept(&node.listener);
    for source in [&secret, &linked] {
        let mut container = node.compute();
        let mut mount = container.mounts[2].clone();
        mount.destination = mount.destination.replace("/vf/", "/other/");
        mount.source = source.display().to_string();
        container.mounts.push(mount);
        runtime.create(&pod(), &container);
        fs::write(node.metadata(), newer(3, "192.0.2.7/24")).unwrap();
        let place = source.display().to_string();
        wait("the refusal", || {
            node.log()
                .lines()
                .any(|line| line.contains("its document stays as it is") && line.contains(&place))
        });
        assert!(!node.document().exists());
    }
}
