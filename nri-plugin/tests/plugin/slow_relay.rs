//! A relay that is slow, hangs or comes back: no container of the node waits for it longer than one would.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use dra_guest_nri::protocol::detail::{Container, CreateContainerResponse};
use dra_guest_nri::protocol::envelope::Response;
use prost::Message;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, bind, connect, listen, socket};

use crate::node::{Node, hook, pod, wait};
use crate::relay::{DOCUMENT, SOCKET, without_metadata};
use crate::runtime::{Runtime, request};

/// Sends all creations before the first answer is read; the answers, which have to come in that order.
fn create_at_once(runtime: &mut Runtime, containers: &[Container]) -> Vec<CreateContainerResponse> {
    let asked: Vec<u32> = containers
        .iter()
        .map(|container| {
            runtime.begin(
                "CreateContainer",
                &request(&pod(), container).encode_to_vec(),
            )
        })
        .collect();
    asked
        .into_iter()
        .map(|stream| {
            let (_, answered, body) = runtime.receive();
            assert_eq!(answered, stream);
            let payload = Response::decode(body).unwrap().payload;
            CreateContainerResponse::decode(payload).unwrap()
        })
        .collect()
}

fn numbered(container: &Container, numbers: std::ops::Range<usize>) -> Vec<Container> {
    numbers
        .map(|number| Container {
            id: format!("c{number}"),
            ..container.clone()
        })
        .collect()
}

#[test]
fn a_relay_that_hangs_holds_up_one_container_and_not_twenty() {
    let node = Node::new(&[SOCKET]);
    let relay = UnixListener::bind(node.path("relay.sock")).unwrap();
    let mut runtime = Runtime::accept(&node.listener);
    let wishes = create_at_once(&mut runtime, &numbered(&node.compute(), 0..20));
    assert!(wishes.iter().all(|wish| hook(wish).is_some()));
    node.wait_for_log("the relay has not answered in time, and is asked again in");
    relay.set_nonblocking(true).unwrap();
    let asked = relay.incoming().take_while(Result::is_ok).count();
    // More than one where this machine took longer than the relay's rest.
    assert!((1..=3).contains(&asked), "{asked}");
}

#[test]
fn a_relay_whose_queue_is_full_is_not_waited_for() {
    let node = Node::new(&[SOCKET]);
    let address = SocketAddrUnix::new(node.path("relay.sock")).unwrap();
    let unix = || socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    let relay = unix();
    bind(&relay, &address).unwrap();
    // One connection may wait; the next waits in `connect`.
    listen(&relay, 0).unwrap();
    let waits = unix();
    connect(&waits, &address).unwrap();
    let mut runtime = Runtime::accept(&node.listener);
    let wish = runtime.create(&pod(), &node.compute());
    assert_eq!(hook(&wish).unwrap().args.len(), 3);
    node.wait_for_log("the relay does not answer");
}

#[test]
fn a_relay_that_comes_back_is_asked_again() {
    let node = Node::new(&[SOCKET]);
    let relay = UnixListener::bind(node.path("relay.sock")).unwrap();
    let mut runtime = Runtime::accept(&node.listener);
    let container = without_metadata(&node);
    assert!(hook(&runtime.create(&pod(), &container)).is_none());
    answer_each(relay, Duration::ZERO);
    wait("an answer of the relay", || {
        thread::sleep(Duration::from_millis(100));
        hook(&runtime.create(&pod(), &container)).is_some()
    });
}

/// Answers every question after a while; how many it has answered.
fn answer_each(relay: UnixListener, after: Duration) -> Arc<AtomicUsize> {
    let count = Arc::new(AtomicUsize::new(0));
    let answered = Arc::clone(&count);
    thread::spawn(move || {
        for socket in relay.incoming() {
            let mut socket = socket.unwrap();
            BufReader::new(&socket)
                .read_line(&mut String::new())
                .unwrap();
            thread::sleep(after);
            // One that was asked before may have gone.
            if socket.write_all(DOCUMENT.as_bytes()).is_ok() {
                answered.fetch_add(1, Ordering::SeqCst);
            }
        }
    });
    count
}

/// What 500 containers a minute are is a fifth of a second for each; these come at once.
#[test]
fn five_hundred_containers_of_a_slow_relay_are_all_answered() {
    const MANY: usize = 500;
    let node = Node::new(&[SOCKET]);
    let relay = UnixListener::bind(node.path("relay.sock")).unwrap();
    let answered = answer_each(relay, Duration::from_millis(3));
    let mut runtime = Runtime::accept(&node.listener);
    let all = numbered(&without_metadata(&node), 0..MANY);
    // What the sockets hold of questions and answers, before either side reads.
    for containers in all.chunks(50) {
        for (wish, container) in create_at_once(&mut runtime, containers)
            .iter()
            .zip(containers)
        {
            let file = node.path("state").join(format!("{}.json", container.id));
            let expected = format!("--attributes={}", file.display());
            assert_eq!(hook(wish).unwrap().args.last(), Some(&expected));
        }
    }
    let answers = || {
        let names = fs::read_dir(node.path("state")).unwrap();
        names
            .filter(|name| name.as_ref().unwrap().path().extension() == Some("json".as_ref()))
            .count()
    };
    assert_eq!(answers(), MANY);
    assert!(answered.load(Ordering::SeqCst) >= MANY);
    let peak = peak_memory(&node);
    assert!(peak < 24 << 10, "{peak} KiB");
    for container in &all {
        runtime.remove(container);
    }
    // That of one whose document was in the making goes a moment later.
    wait("no answer", || answers() == 0);
}

/// The most that the program had resident, in KiB.
fn peak_memory(node: &Node) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", node.program.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.unwrap().parse().unwrap()
}
