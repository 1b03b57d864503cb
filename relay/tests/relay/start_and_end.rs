//! How the relay starts, what it refuses, and what it leaves behind.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::process::{Output, Stdio};

use rustix::net::{AddressFamily, SocketType};
use rustix::process::Signal;

use crate::world::{Relay, World, ready, until};

#[test]
fn it_ends_cleanly_on_both_signals() {
    for signal in [Signal::TERM, Signal::INT] {
        let world = World::new();
        world.put_claim("a");
        let mut relay = world.relay_of_one();
        assert_eq!(relay.listening, ["listening on vm5_10739 for CID 5\n"]);
        let socket = fs::symlink_metadata(world.path("vm5_10739")).unwrap();
        assert!(socket.file_type().is_socket());
        assert_eq!(socket.mode() & 0o777, 0o600);
        let mut guest = world.agent("vm5");
        guest.report(1, &[ready("a")]);
        relay.signal(signal);
        assert_eq!(relay.wait().code(), Some(0), "{}", world.log());
        assert!(!world.path("vm5_10739").exists());
        guest.assert_closed();
        assert_eq!(world.status("a.yaml"), "True Configured");
    }
}

#[test]
fn a_socket_that_was_left_behind_is_replaced_and_a_living_one_is_not() {
    let world = World::new();
    world.put_claim("a");
    drop(UnixListener::bind(world.path("vm5_10739")).unwrap());
    let _relay = world.relay_of_one();
    world.agent("vm5").report(1, &[ready("a")]);

    let second = failed(&world, &["--guest", "cid=5,socket=vm5,claim=default/a"]);
    assert_eq!(second.0, 1);
    assert!(
        second
            .1
            .contains("vm5_10739: another program listens on this socket already"),
        "{}",
        second.1
    );
    world.agent("vm5");
}

#[test]
fn systemd_is_told() {
    let world = World::new();
    let systemd = UnixDatagram::bind(world.path("notify")).unwrap();
    let mut relay = world
        .command(&["--guest", "cid=5,socket=vm5,claim=default/a"])
        .env("NOTIFY_SOCKET", world.path("notify"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map(|child| Relay {
            child,
            listening: Vec::new(),
        })
        .unwrap();
    let mut words = [0; 64];
    let told = systemd.recv(&mut words).unwrap();
    assert_eq!(words[..told].trim_ascii_end(), b"READY=1");
    relay.signal(Signal::TERM);
    let told = systemd.recv(&mut words).unwrap();
    assert_eq!(words[..told].trim_ascii_end(), b"STOPPING=1");
    assert_eq!(relay.wait().code(), Some(0));
}

/// Exit code and standard error of a relay that ends by itself.
fn failed(world: &World, arguments: &[&str]) -> (i32, String) {
    let Output { status, stderr, .. } = world.command(arguments).output().unwrap();
    (status.code().unwrap(), String::from_utf8(stderr).unwrap())
}

#[test]
fn a_wrong_configuration_is_exit_code_2_and_a_sentence() {
    let world = World::new();
    let two = ["--guest", "cid=5,claim=a/b", "--guest", "cid=5,claim=a/c"];
    let missing = ["--claims", "nowhere", "--guest", "cid=5,claim=a/b"];
    for (arguments, words) in [
        (&two[..], "two --guest have cid=5: give each guest one"),
        (&missing[..], "cannot be used multiple times"),
        (
            &["--guest", "cid=5"],
            "the guest has no claim: give it claim=NAMESPACE/NAME",
        ),
        (
            &["--guest", "cid=1,claim=a/b"],
            "cid \"1\" is not the CID of a guest",
        ),
        (
            &["--guest", "cid=5,claim=a/b", "--lost-after", "0"],
            "0 is not in 1..=86400",
        ),
        (&[], "--guest <GUEST>"),
    ] {
        let (code, error) = failed(&world, arguments);
        assert_eq!(code, 2, "{error}");
        assert!(error.contains(words), "{error}");
    }
    fs::remove_dir(world.path("claims")).unwrap();
    let (code, error) = failed(&world, &["--guest", "cid=5,claim=a/b"]);
    assert_eq!(code, 2);
    assert_eq!(
        error,
        "dra-guest-relay: --claims claims: this is not a directory: name the one that holds the ResourceClaim files\n"
    );
}

#[test]
fn a_socket_that_cannot_be_had_is_exit_code_1() {
    let world = World::new();
    fs::write(world.path("vm5_10739"), "precious").unwrap();
    let (code, error) = failed(&world, &["--guest", "cid=5,socket=vm5,claim=a/b"]);
    assert_eq!(code, 1);
    assert!(
        error.contains("vm5_10739: this is not a socket, and the relay removes nothing else"),
        "{error}"
    );
    assert_eq!(fs::read(world.path("vm5_10739")).unwrap(), b"precious");
    let (code, error) = failed(&world, &["--guest", "cid=5,socket=no/vm5,claim=a/b"]);
    assert_eq!(code, 1);
    assert!(
        error.contains("no/vm5_10739: the relay cannot listen on this socket: No such file"),
        "{error}"
    );
}

/// As under a journal that has gone away.
#[test]
fn a_log_that_cannot_be_written_ends_nothing() {
    let world = World::new();
    world.put_claim("a");
    let child = world
        .command(&["--guest", "cid=5,socket=vm5,claim=default/a"])
        .stdout(Stdio::null())
        .stderr(fs::File::create("/dev/full").unwrap())
        .spawn()
        .unwrap();
    let mut relay = Relay {
        child,
        listening: Vec::new(),
    };
    until("the relay to listen", || world.path("vm5_10739").exists());
    world.agent("vm5").report(1, &[ready("a")]);
    relay.signal(Signal::TERM);
    assert_eq!(relay.wait().code(), Some(0));
}

/// A dialogue over `AF_VSOCK` needs a guest, or the kernel's loopback (`vsock_loopback`), whose CID 1 no
/// guest can have; so the rest of the way is held by the unit test of `listen`, and by the
/// dialogues over UNIX sockets, which share everything behind the accept.
#[test]
fn guests_without_a_socket_are_expected_on_vsock() {
    let world = World::new();
    world.put_claim("a");
    let guest = ["--guest", "cid=5,claim=default/a"];
    let failure = "the relay cannot listen on vsock port 10739";
    if rustix::net::socket(AddressFamily::VSOCK, SocketType::STREAM, None).is_ok() {
        let mut relay = world.relay(&guest);
        assert_eq!(
            relay.listening,
            ["listening on vsock port 10739 for CID 5\n"]
        );
        let (code, error) = failed(&world, &guest);
        assert_eq!(code, 1);
        assert!(
            error.contains(failure) && error.contains("Address already in use"),
            "{error}"
        );
        relay.signal(Signal::TERM);
        assert_eq!(relay.wait().code(), Some(0));
    } else {
        let (code, error) = failed(&world, &guest);
        assert_eq!(code, 1);
        assert!(
            error.contains(failure) && error.contains("Load the kernel module"),
            "{error}"
        );
    }
}
