//! Guests that want to break the relay, or to keep it from the others.

use serde_json::json;

use crate::world::{World, not_ready, ready, until};

/// Far above what the relay needs, far below what a guest could make it hold without bounds.
const MEMORY_KIB: u64 = 96 << 10;

/// The other guest is served as if nothing were.
fn assert_other_is_served(world: &World) {
    let mut six = world.agent("vm6");
    assert_eq!(six.report(1, &[ready("b")]), Vec::<String>::new());
    assert_eq!(world.status("b.yaml"), "True Configured");
}

#[test]
fn what_is_not_of_the_protocol_ends_the_connection_with_a_line_in_the_log() {
    let world = World::new();
    let _relay = world.relay_of_two();
    for (bytes, words) in [
        (
            &b"GET / HTTP/1.1\r\n\r\n"[..],
            "not of the protocol: expected value",
        ),
        (b"\xff\xfe\x00\n", "not of the protocol: it is not UTF-8"),
        (b"\n", "not of the protocol: EOF"),
        (b"{\"type\":\"heartbeat\"}\n", "the first line is no hello"),
        (b"[[[[[[[[[[\n", "not of the protocol: invalid type"),
        (
            b"{\"type\":\"hello\",\"version\":1,\"bootId\":\"b\"}\n",
            "not of the protocol: invalid type: integer",
        ),
    ] {
        let mut guest = world.connect("vm5");
        guest.send_all_it_takes(bytes);
        guest.assert_closed();
        until(words, || world.log().contains(words));
    }
    // In the middle of a line.
    let mut guest = world.connect("vm5");
    guest.send_all_it_takes(b"{\"type\":\"hel");
    drop(guest);
    until("the cut line", || {
        world.log().contains("it ended in the middle of a line")
    });
    assert_other_is_served(&world);
    world.agent("vm5");
}

#[test]
fn a_line_has_at_most_64_kib() {
    let world = World::new();
    let _relay = world.relay_of_two();
    // As long as it may be, the newline included.
    let mut guest = world.agent("vm5");
    let report =
        json!({"type": "report", "sequence": 1, "devices": [not_ready("a", "Pending", "")]});
    let room = (64 << 10) - report.to_string().len() - 1;
    assert_eq!(
        guest.report(1, &[not_ready("a", "Pending", &"x".repeat(room))]),
        Vec::<String>::new()
    );
    let [_, _, message, _] = world.condition("a.yaml").unwrap();
    assert!(message.len() <= 1024 && message.ends_with('…'), "{message}");
    // One byte more.
    guest.send(&json!({"type": "report", "sequence": 1, "devices": [not_ready("a", "Pending", &"x".repeat(room + 1))]}));
    guest.assert_closed();
    until("the log", || {
        world.log().contains("a line has more than 65536 bytes")
    });
}

#[test]
fn an_endless_line_is_not_kept() {
    let world = World::new();
    let relay = world.relay_of_two();
    for _ in 0..12 {
        let mut guest = world.connect("vm5");
        guest.send_all_it_takes(&vec![b'x'; 8 << 20]);
        guest.assert_closed();
    }
    assert!(
        relay.peak_memory() < MEMORY_KIB,
        "{} KiB",
        relay.peak_memory()
    );
    assert_other_is_served(&world);
}

#[test]
fn a_thousand_connections_are_one() {
    let world = World::new();
    let relay = world.relay_of_two();
    let held: Vec<_> = (0..1000).map(|_| world.connect("vm5")).collect();
    assert_other_is_served(&world);
    until("all connections but one to be closed", || {
        relay.open_files() < 30
    });
    assert!(
        relay.peak_memory() < MEMORY_KIB,
        "{} KiB",
        relay.peak_memory()
    );
    drop(held);
    let mut guest = world.agent("vm5");
    assert_eq!(guest.report(1, &[ready("a")]), Vec::<String>::new());
}

#[test]
fn a_slow_writer_holds_nobody_up() {
    let world = World::new();
    let _relay = world.relay_of_two();
    let mut slow = world.connect("vm5");
    slow.send_all_it_takes(b"{\"type\":\"he");
    assert_other_is_served(&world);
    slow.send_all_it_takes(b"llo\",\"version\":\"1\",\"bootId\":\"b\"}\n{\"type\":");
    slow.acknowledged(0);
    assert_other_is_served(&world);
}

#[test]
fn a_flood_of_lines_holds_nobody_up() {
    let world = World::new();
    let relay = world.relay_of_two();
    let five = world.agent("vm5");
    let mut writer = five.stream.try_clone().unwrap();
    writer
        .set_write_timeout(Some(std::time::Duration::from_secs(1)))
        .unwrap();
    let flood = std::thread::spawn(move || {
        use std::io::Write as _;
        let lines = "{\"type\":\"heartbeat\"}\n".repeat(100_000);
        // It blocks once the relay takes no more at a time.
        let _ = writer.write_all(lines.as_bytes());
    });
    assert_other_is_served(&world);
    flood.join().unwrap();
    assert_other_is_served(&world);
    assert!(
        relay.peak_memory() < MEMORY_KIB,
        "{} KiB",
        relay.peak_memory()
    );
    drop(five.stream);
}

#[test]
fn a_guest_that_reads_no_answers_is_given_up() {
    let world = World::new();
    let _relay = world.relay_of_two();
    let mut five = world.agent("vm5");
    // Each answer is long, and nobody takes it.
    let broken: Vec<_> = (0..200).map(|_| json!({"identity": 1})).collect();
    let line = json!({"type": "report", "sequence": 1, "devices": broken}).to_string() + "\n";
    let mut writer = five.stream.try_clone().unwrap();
    let flood = std::thread::spawn(move || {
        use std::io::Write as _;
        while writer.write_all(line.as_bytes()).is_ok() {}
    });
    assert_other_is_served(&world);
    until("the log", || {
        world
            .log()
            .contains("the guest did not take an answer in time")
    });
    five.assert_closed();
    flood.join().unwrap();
    assert_other_is_served(&world);
}

#[test]
fn a_guest_that_invents_devices_is_bounded() {
    let world = World::new();
    let relay = world.relay_of_two();
    let mut five = world.agent("vm5");
    let mut last = Vec::new();
    for sequence in 1..=20 {
        let devices: Vec<_> = (0..60)
            .map(|n| {
                let mut report = not_ready("a", "Pending", &"m".repeat(500));
                report["identity"]["device"] = json!(format!("nic-{sequence}-{n}"));
                report
            })
            .collect();
        last = five.report(sequence, &devices);
    }
    assert!(
        last.iter()
            .any(|problem| problem.contains("256 devices, the most that are kept")),
        "{last:?}"
    );
    let bytes: usize = last.iter().map(String::len).sum();
    assert!(bytes < 32 << 10, "an answer has {bytes} bytes of problems");
    assert!(
        relay.peak_memory() < MEMORY_KIB,
        "{} KiB",
        relay.peak_memory()
    );
    let logged = world.log().len();
    assert!(logged < 64 << 10, "the log has {logged} bytes");
    // Its honest device is heard after a new hello.
    five.hello();
    assert_eq!(five.report(1, &[ready("a")]), Vec::<String>::new());
    assert_other_is_served(&world);
}
