//! What the relay knows of devices whose driver writes no metadata.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::thread;

use dra_guest_nri::protocol::detail::Container;

use crate::node::{Node, POD_UID, hook, pod};
use crate::runtime::Runtime;

pub const DOCUMENT: &str = include_str!("../../../cdi-hook/tests/container/vf-document.json");

/// A relay that gives every question this answer; `None` lets it wait.
fn answering(node: &Node, answer: Option<Vec<u8>>) {
    let listener = UnixListener::bind(node.path("relay.sock")).unwrap();
    thread::spawn(move || {
        let mut held = Vec::new();
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let mut line = String::new();
            BufReader::new(&socket).read_line(&mut line).unwrap();
            assert_eq!(
                line,
                format!(
                    "{{\"namespace\":\"default\",\"name\":\"virt-launcher-vm-x7k\",\"uid\":\"{POD_UID}\",\"within_milliseconds\":400}}\n"
                )
            );
            match &answer {
                // The plugin may have heard enough.
                Some(answer) => drop(socket.write_all(answer)),
                None => held.push(socket),
            }
        }
    });
}

pub const SOCKET: &str = "--attributes-socket=@/relay.sock";

pub fn without_metadata(node: &Node) -> Container {
    let mut container = node.compute();
    container.mounts.remove(2);
    container
}

#[test]
fn its_answer_is_given_to_the_hook_and_goes_with_the_container() {
    let node = Node::new(&[SOCKET]);
    answering(&node, Some(DOCUMENT.into()));
    let mut runtime = Runtime::accept(&node.listener);
    let container = without_metadata(&node);
    let wish = runtime.create(&pod(), &container);
    let file = node.path("state/c0ffee.json");
    let expected = format!("--attributes={}", file.display());
    assert_eq!(hook(&wish).unwrap().args.last(), Some(&expected));
    assert_eq!(fs::read_to_string(&file).unwrap(), DOCUMENT);
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o644
    );
    let state = fs::metadata(node.path("state")).unwrap();
    assert_eq!(state.permissions().mode() & 0o777, 0o711);
    runtime.remove(&container);
    assert!(!file.exists());
}

#[test]
fn answers_of_containers_that_are_gone_go_with_the_next_start() {
    let mut node = Node::new(&[SOCKET]);
    answering(&node, Some(DOCUMENT.into()));
    let wish = Runtime::accept(&node.listener).create(&pod(), &without_metadata(&node));
    node.restart(&[SOCKET]);
    fs::write(node.path("state/gone.json"), DOCUMENT).unwrap();
    let mut running = node.running(wish);
    running.mounts.remove(2);
    Runtime::accept(&node.listener).synchronize(&[(pod(), running)]);
    assert!(!node.path("state/gone.json").exists());
    assert!(node.path("state/c0ffee.json").exists());
}

#[test]
fn a_container_starts_without_its_answer() {
    let answers: [Option<Vec<u8>>; 6] = [
        None,
        Some(br#"{"error":"the pod is not known yet"}"#.to_vec()),
        Some(b"".to_vec()),
        Some(b"nonsense".to_vec()),
        Some(vec![b' '; 3 << 20]),
        Some(br#"{"apiVersion":"dra-guest/v1","kind":"DeviceAttributes","devices":[]}"#.to_vec()),
    ];
    for answer in answers {
        let node = Node::new(&[SOCKET]);
        let shown = format!(
            "{:?}",
            answer
                .as_ref()
                .map(|answer| answer.iter().take(40).collect::<Vec<_>>())
        );
        let has_no_devices = answer
            .as_ref()
            .is_some_and(|answer| answer.ends_with(b"[]}"));
        answering(&node, answer);
        let mut runtime = Runtime::accept(&node.listener);
        assert!(
            hook(&runtime.create(&pod(), &without_metadata(&node))).is_none(),
            "{shown}"
        );
        // What the drivers wrote is said all the same.
        let wish = runtime.create(&pod(), &node.compute());
        assert_eq!(hook(&wish).unwrap().args.len(), 3, "{shown}");
        if !has_no_devices {
            node.wait_for_log("devices whose driver writes no metadata are missing");
        }
    }
}

#[test]
fn a_relay_that_is_not_there_is_told() {
    let node = Node::new(&[SOCKET]);
    let mut runtime = Runtime::accept(&node.listener);
    let wish = runtime.create(&pod(), &node.compute());
    assert_eq!(hook(&wish).unwrap().args.len(), 3);
    node.wait_for_log("the relay does not answer: No such file or directory");
}
