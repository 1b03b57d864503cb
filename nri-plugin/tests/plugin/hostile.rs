//! A runtime and a node that do what none should: streams, synchronizing in parts, files that are replaced by others.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use dra_guest_nri::protocol::detail::{self, Container, SynchronizeResponse};
use dra_guest_nri::protocol::envelope::Request;
use dra_guest_nri::protocol::outline::SynchronizeRequest;
use dra_guest_nri::protocol::{PLUGIN_SERVICE, message};
use prost::Message;

use crate::node::{METADATA, Node, hook, pod};
use crate::runtime::{Runtime, request};

/// A driver's metadata of another generation and address.
fn generation(number: u32, address: &str) -> String {
    METADATA
        .replace("\"generation\": 2", &format!("\"generation\": {number}"))
        .replace("192.0.2.5/24", address)
}

#[test]
fn each_call_is_answered_on_its_stream_whatever_its_number() {
    let node = Node::new(&[]);
    let mut runtime = Runtime::accept(&node.listener);
    let call = Request {
        service: PLUGIN_SERVICE.to_owned(),
        method: "CreateContainer".to_owned(),
        payload: request(&pod(), &node.compute()).encode_to_vec().into(),
        timeout_nano: 0,
    };
    // Even, used before, none, the highest.
    for stream in [2, 2, 7, 1, 0, u32::MAX] {
        let body = call.encode_to_vec();
        let mut bytes = u32::try_from(body.len()).unwrap().to_be_bytes().to_vec();
        bytes.extend(stream.to_be_bytes());
        // With flags that say that the stream goes on.
        bytes.extend([1, 0xff]);
        bytes.extend(body);
        runtime.send(1, &bytes);
        assert_eq!(runtime.receive().1, stream);
    }
}

#[test]
fn pieces_of_any_size_make_a_message() {
    let node = Node::new(&[]);
    let mut runtime = Runtime::accept(&node.listener);
    let call = message::call(
        9,
        PLUGIN_SERVICE,
        "CreateContainer",
        &request(&pod(), &node.compute()),
    );
    for byte in &call {
        // And pieces of nothing, of other connections, between them.
        runtime.send_raw(&[0, 0, 0, 1, 0, 0, 0, 0]);
        runtime.send_raw(&[0, 0, 0, 9, 0, 0, 0, 1, 0xff]);
        runtime.send_raw(&[0, 0, 0, 1, 0, 0, 0, 1, *byte]);
    }
    assert_eq!(runtime.receive().1, 9);
}

#[test]
fn a_message_that_ends_in_the_middle_is_none_of_the_next_connection() {
    let node = Node::new(&[]);
    let mut runtime = Runtime::accept(&node.listener);
    runtime.send(1, &[0, 0, 1, 0, 0, 0, 0, 1, 1, 0, b'h']);
    drop(runtime);
    let mut runtime = Runtime::accept(&node.listener);
    assert!(hook(&runtime.create(&pod(), &node.compute())).is_some());
}

fn part(containers: &[Container], more: bool) -> SynchronizeRequest {
    SynchronizeRequest {
        pods: vec![pod().encode_to_vec().into(); containers.len().min(1)],
        containers: containers
            .iter()
            .map(|container| container.encode_to_vec().into())
            .collect(),
        more,
    }
}

#[test]
fn a_runtime_may_tell_of_its_containers_in_many_parts() {
    let node = Node::new(&[]);
    let mut runtime = Runtime::accept(&node.listener);
    let wish = runtime.create(&pod(), &node.compute());
    let running = node.running(wish);
    let mut part = |containers: &[Container], more| -> SynchronizeResponse {
        runtime
            .call("Synchronize", &part(containers, more))
            .unwrap()
    };
    for _ in 0..300 {
        assert!(part(&[], true).more);
    }
    // One container twice, in different parts.
    assert!(part(std::slice::from_ref(&running), true).more);
    assert!(part(std::slice::from_ref(&running), true).more);
    assert!(!part(&[], false).more);
    node.wait_for_log("kept up to date: 2");
    fs::write(node.metadata(), generation(3, "192.0.2.7/24")).unwrap();
    node.wait_for_document("192.0.2.7/24");
    // What was begun and not ended counts for nothing once the connection is another.
    assert!(part(std::slice::from_ref(&running), true).more);
    drop(runtime);
    let mut runtime = Runtime::accept(&node.listener);
    runtime.synchronize(&[]);
    node.wait_for_log("kept up to date: 0");
}

#[test]
fn parts_without_end_take_no_memory_without_end() {
    let node = Node::new(&[]);
    let mut runtime = Runtime::accept(&node.listener);
    let empty = SynchronizeRequest {
        containers: vec![bytes::Bytes::new(); 1_000_000],
        more: true,
        ..SynchronizeRequest::default()
    };
    for _ in 0..12 {
        let answer: SynchronizeResponse = runtime.call("Synchronize", &empty).unwrap();
        assert!(answer.more);
    }
    node.wait_for_log("the runtime tells of too much at once");
    let status = fs::read_to_string(format!("/proc/{}/status", node.program.id())).unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM:"));
    let peak: u64 = peak
        .and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
        .unwrap();
    assert!(peak < 200 << 10, "{peak} KiB");
}

#[test]
fn a_container_may_be_created_twice_and_removed_twice() {
    let node = Node::new(&[]);
    let mut runtime = Runtime::accept(&node.listener);
    let container = node.compute();
    for _ in 0..2 {
        assert!(hook(&runtime.create(&pod(), &container)).is_some());
    }
    fs::write(node.metadata(), generation(3, "192.0.2.7/24")).unwrap();
    node.wait_for_document("192.0.2.7/24");
    for _ in 0..2 {
        runtime.remove(&container);
    }
    assert!(hook(&runtime.create(&pod(), &container)).is_some());
    fs::write(node.metadata(), generation(4, "192.0.2.8/24")).unwrap();
    node.wait_for_document("192.0.2.8/24");
}

/// A driver that prepares a claim anew counts from one again.
#[test]
fn a_generation_that_goes_down_is_followed() {
    let node = Node::new(&[]);
    let mut runtime = Runtime::accept(&node.listener);
    runtime.create(&pod(), &node.compute());
    fs::write(node.metadata(), generation(9, "192.0.2.9/24")).unwrap();
    node.wait_for_document("192.0.2.9/24");
    fs::write(node.metadata(), generation(1, "192.0.2.1/24")).unwrap();
    node.wait_for_document("192.0.2.1/24");
}

#[test]
fn metadata_that_is_no_file_any_more_is_not_read() {
    let node = Node::new(&[]);
    let mut runtime = Runtime::accept(&node.listener);
    runtime.create(&pod(), &node.compute());
    fs::write(node.metadata(), generation(3, "192.0.2.7/24")).unwrap();
    let before = node.wait_for_document("192.0.2.7/24");
    let secret = node.path("secret.json");
    fs::write(&secret, generation(9, "198.51.100.9/24")).unwrap();
    let place = node.metadata();
    let put: [&dyn Fn(); 3] = [
        &|| symlink(&secret, &place).unwrap(),
        &|| {
            let made = Command::new("mkfifo").arg(&place).status().unwrap();
            assert!(made.success());
        },
        &|| fs::create_dir(&place).unwrap(),
    ];
    for (number, put) in put.into_iter().enumerate() {
        fs::remove_file(&place).unwrap();
        put();
        // The directory's other names tell the plugin to look.
        fs::write(place.with_file_name(format!("touch-{number}")), "").unwrap();
        node.wait_for_log("its document stays as it is");
        assert_eq!(fs::read_to_string(node.document()).unwrap(), before);
        fs::remove_file(&place)
            .or_else(|_| fs::remove_dir(&place))
            .unwrap();
        let address = format!("192.0.2.{}/24", 20 + number);
        fs::write(&place, generation(4, &address)).unwrap();
        node.wait_for_document(&address);
        fs::write(&place, generation(3, "192.0.2.7/24")).unwrap();
        assert_eq!(node.wait_for_document("192.0.2.7/24"), before);
        fs::write(node.path("log"), "").unwrap();
    }
}

#[test]
fn a_vm_mount_that_is_gone_ends_the_updates_and_nothing_else() {
    let node = Node::new(&[]);
    let mut runtime = Runtime::accept(&node.listener);
    runtime.create(&pod(), &node.compute());
    fs::remove_dir_all(node.volume()).unwrap();
    fs::write(node.metadata(), generation(3, "192.0.2.7/24")).unwrap();
    let mut other = node.compute();
    other.id = "decaf".to_owned();
    let volume = node.volume().with_file_name("other");
    fs::create_dir(&volume).unwrap();
    other.mounts[1].source = volume.display().to_string();
    runtime.create(&pod(), &other);
    fs::write(node.metadata(), generation(4, "192.0.2.8/24")).unwrap();
    crate::node::wait("the other's document", || {
        volume.join("device-attributes.json").exists()
    });
    assert!(!node.volume().exists());
    assert!(
        !node.log().contains("is not kept up to date"),
        "{}",
        node.log()
    );
}

#[test]
fn a_runtime_that_never_answers_is_left() {
    let node = Node::new(&[]);
    let mut silent = Runtime::accept_only(&node.listener);
    let (_, _, _) = silent.receive();
    // It was told of the registration, and says nothing.
    let mut runtime = Runtime::accept(&node.listener);
    assert!(hook(&runtime.create(&pod(), &node.compute())).is_some());
    node.wait_for_log("the connection to the runtime is broken");
}

#[test]
fn a_runtime_that_asks_before_it_configures_is_answered() {
    let node = Node::new(&[]);
    let mut runtime = Runtime::accept_only(&node.listener);
    let (connection, stream, _) = runtime.receive();
    let answer = message::answer(stream, &detail::ConfigureResponse::default());
    assert!(hook(&runtime.create(&pod(), &node.compute())).is_some());
    runtime.send(connection, &answer);
    assert!(hook(&runtime.create(&pod(), &node.compute())).is_some());
}
