//! Runtimes that restart, that are newer or older, and that say what no runtime says.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use dra_guest_nri::protocol::detail::{
    ConfigureResponse, CreateContainerResponse, SynchronizeResponse,
};
use dra_guest_nri::protocol::envelope::Request;
use dra_guest_nri::protocol::outline::SynchronizeRequest;
use prost::Message;

use crate::node::{Node, hook, pod};
use crate::runtime::{Runtime, request};

const INVALID_ARGUMENT: i32 = 3;
const UNIMPLEMENTED: i32 = 12;

fn expect_service(node: &Node, runtime: &mut Runtime) {
    let wish = runtime.create(&pod(), &node.compute());
    assert!(hook(&wish).is_some());
}

#[test]
fn a_runtime_that_restarts_is_connected_to_again() {
    let node = Node::new(&[]);
    for _ in 0..3 {
        let mut runtime = Runtime::accept(&node.listener);
        runtime.synchronize(&[]);
        expect_service(&node, &mut runtime);
        let _: ConfigureResponse = runtime.call_bytes("Shutdown", b"").unwrap();
    }
    node.wait_for_log("the runtime has closed the connection");
}

#[test]
fn a_runtime_that_is_not_there_yet_is_waited_for() {
    let mut node = Node::new(&[]);
    std::fs::remove_file(node.path("nri.sock")).unwrap();
    node.restart(&[]);
    node.wait_for_log("the runtime cannot be connected to: No such file or directory");
    node.listener = std::os::unix::net::UnixListener::bind(node.path("nri.sock")).unwrap();
    expect_service(&node, &mut Runtime::accept(&node.listener));
}

#[test]
fn what_is_not_known_is_passed_over() {
    let node = Node::new(&[]);
    let mut runtime = Runtime::accept(&node.listener);
    // A field of a newer description: number 999, text.
    let unknown = [0xba, 0x3e, 3, b'n', b'e', b'w'];
    let mut bytes = request(&pod(), &node.compute()).encode_to_vec();
    bytes.extend(unknown);
    let wish: CreateContainerResponse = runtime.call_bytes("CreateContainer", &bytes).unwrap();
    assert!(hook(&wish).is_some());
    let refused = runtime.call_bytes::<ConfigureResponse>("SomethingNew", &bytes);
    assert_eq!(refused, Err(UNIMPLEMENTED));
    // An event that was not subscribed to.
    runtime.state_change(77, &node.compute());
    // A connection of a newer runtime, and a message of an unknown kind.
    runtime.send(7, b"hello");
    runtime.send(1, &[0, 0, 0, 0, 0, 0, 0, 1, 3, 1]);
    expect_service(&node, &mut runtime);
    let other = Request {
        service: "nri.pkg.api.v2.Plugin".to_owned(),
        ..Request::default()
    };
    let stream = runtime.begin_with(&other.encode_to_vec());
    assert_eq!(runtime.receive().1, stream);
    expect_service(&node, &mut runtime);
}

#[test]
fn what_cannot_be_read_keeps_no_container_from_starting() {
    let node = Node::new(&[]);
    let mut runtime = Runtime::accept(&node.listener);
    let whole = request(&pod(), &node.compute()).encode_to_vec();
    for length in 0..whole.len() {
        let wish: CreateContainerResponse = runtime
            .call_bytes("CreateContainer", &whole[..length])
            .unwrap();
        assert!(hook(&wish).is_none(), "{length} of {} bytes", whole.len());
    }
    for byte in 0..whole.len() {
        let mut broken = whole.clone();
        broken[byte] ^= 0xff;
        let _: CreateContainerResponse = runtime.call_bytes("CreateContainer", &broken).unwrap();
    }
    for method in ["RemoveContainer", "StateChange", "Configure"] {
        let _: ConfigureResponse = runtime.call_bytes(method, &[0xff; 40]).unwrap();
    }
    let _: SynchronizeResponse = runtime.call_bytes("Synchronize", &[0xff; 40]).unwrap();
    let stream = runtime.begin_with(&[0xff; 40]);
    let (_, answered, body) = runtime.receive();
    assert_eq!(answered, stream);
    let status = dra_guest_nri::protocol::envelope::Response::decode(body)
        .unwrap()
        .status;
    assert_eq!(status.unwrap().code, INVALID_ARGUMENT);
    expect_service(&node, &mut runtime);
}

#[test]
fn a_huge_request_is_borne() {
    let node = Node::new(&[]);
    let mut runtime = Runtime::accept(&node.listener);
    let mut container = node.compute();
    container
        .mounts
        .extend(std::iter::repeat_n(container.mounts[0].clone(), 200_000));
    let wish = runtime.create(&pod(), &container);
    assert!(hook(&wish).is_none());
    node.wait_for_log("bytes for one container is passed over");
    // As many empty containers as a message can name.
    let many = SynchronizeRequest {
        containers: vec![bytes::Bytes::new(); 2_000_000],
        ..SynchronizeRequest::default()
    };
    let _: SynchronizeResponse = runtime.call("Synchronize", &many).unwrap();
    expect_service(&node, &mut runtime);
}

#[test]
fn what_is_no_nri_ends_the_connection_and_not_the_program() {
    let node = Node::new(&[]);
    let nonsense: [&[u8]; 3] = [
        // A piece of 4 GiB.
        &[0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff],
        // A message of 4 GiB in a small piece.
        &[
            0, 0, 0, 1, 0, 0, 0, 10, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1, 1, 0,
        ],
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
    ];
    for bytes in nonsense {
        let mut runtime = Runtime::accept(&node.listener);
        runtime.send_raw(bytes);
        assert!(runtime.is_closed(), "{bytes:?}");
    }
    expect_service(&node, &mut Runtime::accept(&node.listener));
}

#[test]
fn a_refusal_is_told() {
    let node = Node::new(&[]);
    let mut runtime = Runtime::accept_only(&node.listener);
    let (connection, stream, _) = runtime.receive();
    let refusal = dra_guest_nri::protocol::message::refusal(
        stream,
        dra_guest_nri::protocol::envelope::Code::Unknown,
        "external plugins are off".to_owned(),
    );
    runtime.send(connection, &refusal);
    assert!(runtime.is_closed());
    node.wait_for_log("the runtime refuses the plugin: external plugins are off");
}

#[test]
fn containers_in_quick_succession_are_all_answered() {
    let node = Node::new(&[]);
    let mut runtime = Runtime::accept(&node.listener);
    // 500 in a minute are eight a second; these are at once, and none is removed.
    for number in 0..500 {
        let mut container = node.compute();
        container.id = format!("c{number}");
        assert!(hook(&runtime.create(&pod(), &container)).is_some());
    }
    let mut foreign = node.compute();
    foreign.name = "sidecar".to_owned();
    for _ in 0..5000 {
        assert!(hook(&runtime.create(&pod(), &foreign)).is_none());
    }
    expect_service(&node, &mut runtime);
}

#[test]
fn it_ends_in_order_when_it_is_asked() {
    let mut node = Node::new(&[]);
    let _runtime = Runtime::accept(&node.listener);
    let pid = node.program.id().to_string();
    assert!(Command::new("kill").arg(pid).status().unwrap().success());
    let status = node.program.wait().unwrap();
    assert_eq!((status.code(), status.signal()), (Some(0), None));
}

#[test]
fn what_the_hook_would_not_take_is_told_at_once() {
    let output = Command::new(env!("CARGO_BIN_EXE_dra-guest-nri"))
        .args(["--export", "two words"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(
        words.starts_with("dra-guest-nri: the options for the hook: "),
        "{words}"
    );
    assert!(words.contains("two words"), "{words}");
}
