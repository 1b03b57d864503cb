//! Health, readiness, metrics and logs of a relay at work, also while its guests and its readers are hostile.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;

use rustix::process::Signal;
use serde_json::Value as Json;

use crate::world::{World, not_ready, ready, until};

/// Values are counts: they are whole.
fn is(value: f64, count: u32) -> bool {
    (value - f64::from(count)).abs() < f64::EPSILON
}

#[test]
fn what_a_guest_does_is_counted() {
    let world = World::new();
    world.put_claim("a");
    let (_relay, monitor) = world.monitored_relay(&[]);
    assert_eq!(monitor.get("/healthz"), (200, "ok\n".to_owned()));
    assert_eq!(monitor.get("/readyz"), (200, "ok\n".to_owned()));
    assert!(is(monitor.value("guests_known"), 1));
    assert!(is(monitor.value("guests_connected"), 0));

    let mut guest = world.agent("vm5");
    guest.report(1, &[ready("a")]);
    guest.report(2, &[ready("a")]);
    guest.report(3, &[ready("b")]);
    let all = monitor.scrape();
    let count = |series: &str| all[&format!("dra_guest_relay_{series}")];
    for (series, value) in [
        ("guests_connected", 1),
        ("connections_total", 1),
        ("lines_total", 4),
        ("reports_total{outcome=\"taken\"}", 2),
        ("reports_total{outcome=\"with_problems\"}", 1),
        ("applies_total{outcome=\"written\"}", 1),
        ("applies_total{outcome=\"failed\"}", 0),
        ("report_to_claim_seconds_count", 1),
        ("claims_waiting", 0),
        ("oldest_unsent_report_age_seconds", 0),
        ("build_info{version=\"0.1.0\"}", 1),
    ] {
        assert!(is(count(series), value), "{series}: {}", count(series));
    }
    assert!(count("applies_total{outcome=\"unchanged\"}") >= 1.0);
    drop(guest);
    until("the end of the connection", || {
        is(monitor.value("guests_connected"), 0)
    });
}

#[test]
fn every_metric_is_documented_and_every_documented_one_is_there() {
    let world = World::new();
    let (_relay, monitor) = world.monitored_relay(&[]);
    let (_, text) = monitor.get("/metrics");
    let mut shown = BTreeSet::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = line.split_once(' ').unwrap();
        shown.insert(match kind {
            "counter" => format!("{name}_total"),
            "gauge" | "histogram" => name.to_owned(),
            other => panic!("{name} has the type {other}"),
        });
    }
    let documentation = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/relay-operations.md");
    let documented: BTreeSet<String> = fs::read_to_string(documentation)
        .unwrap()
        .lines()
        .filter_map(|line| line.strip_prefix("| `dra_guest_relay_"))
        .map(|rest| format!("dra_guest_relay_{}", rest.split(['`', '{']).next().unwrap()))
        .collect();
    assert_eq!(shown, documented);
}

#[test]
fn only_what_is_there_is_answered() {
    let world = World::new();
    let (_relay, monitor) = world.monitored_relay(&[]);
    assert_eq!(monitor.request("GET", "/").status, 404);
    assert_eq!(monitor.request("GET", "/metrics/../x").status, 404);
    let refused = monitor.request("POST", "/healthz");
    assert_eq!(refused.status, 405);
    assert!(
        refused.headers.contains("allow: GET, HEAD"),
        "{}",
        refused.headers
    );
    let head = monitor.request("HEAD", "/metrics");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    let metrics = monitor.request("GET", "/metrics");
    let kind = "content-type: application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert!(metrics.headers.contains(kind), "{}", metrics.headers);
}

#[test]
fn a_claim_that_cannot_be_written_waits_and_grows_old() {
    let world = World::new();
    let (_relay, monitor) = world.monitored_relay(&[]);
    let mut guest = world.agent("vm5");
    guest.report(1, &[ready("a")]);
    assert!(is(monitor.value("claims_waiting"), 1));
    let failures = "failures_total{operation=\"apply\",reason=\"file\"}";
    assert!(monitor.value(failures) >= 1.0);
    let age = || monitor.value("oldest_unsent_report_age_seconds");
    let before = age();
    assert!(before > 0.0);
    until("the report to grow old", || age() > before);
    // The same again does not make it young.
    guest.report(2, &[ready("a")]);
    assert!(age() > before);
    world.put_claim("a");
    guest.report(3, &[ready("a")]);
    assert!(is(monitor.value("claims_waiting"), 0) && is(age(), 0));
}

#[test]
fn a_silent_guest_is_counted_until_it_is_heard_again() {
    let world = World::new();
    world.put_claim("a");
    let (_relay, monitor) = world.monitored_relay(&["--lost-after", "1"]);
    until("silence", || is(monitor.value("guests_silent"), 1));
    let mut guest = world.agent("vm5");
    until("the guest to be heard", || {
        guest.send(&serde_json::json!({"type": "heartbeat"}));
        is(monitor.value("guests_silent"), 0)
    });
}

#[test]
fn lines_that_break_a_bound_are_counted_by_it() {
    let world = World::new();
    world.put_claim("a");
    let (_relay, monitor) = world.monitored_relay(&[]);
    let long = vec![b'x'; 70_000];
    for (bytes, bound) in [
        (&b"{\"type\":\"heartbeat\"}\n"[..], "first_line"),
        (b"no object\n", "protocol"),
        (&long[..], "line_bytes"),
    ] {
        let mut guest = world.connect("vm5");
        guest.send_all_it_takes(bytes);
        guest.assert_closed();
        let series = format!("lines_refused_total{{bound=\"{bound}\"}}");
        assert!(is(monitor.value(&series), 1), "{bound}");
    }
}

/// Guests that flood, and readers that hold connections open and say nothing or never end.
#[test]
fn hostile_guests_and_readers_keep_nobody_from_reading() {
    let world = World::new();
    world.put_claim("a");
    let (relay, monitor) = world.monitored_relay(&[]);
    let mut flooding = world.agent("vm5");
    let flood = std::thread::spawn(move || {
        let line = format!(
            "{{\"type\":\"report\",\"sequence\":1,\"devices\":[{}]}}\n",
            not_ready("a", "Pending", &"x".repeat(4000))
        );
        flooding.send_all_it_takes(line.repeat(2000).as_bytes());
    });
    let mut held = Vec::new();
    for number in 0..100 {
        let mut stream = monitor.connect();
        // Half of them begin, and some of those without an end.
        if number % 2 == 0 {
            stream.write_all(b"GET /metrics HTTP/1.1\r\nX: ").unwrap();
        }
        if number % 10 == 0 {
            // Closed by the relay when it is too much.
            let _ = stream.write_all(&vec![b'y'; 100_000]);
        }
        held.push(stream);
        if number % 10 == 0 {
            assert_eq!(monitor.get("/healthz").0, 200);
            assert!(monitor.value("lines_total") >= 1.0);
        }
    }
    assert!(relay.open_files() < 60, "{}", relay.open_files());
    assert!(
        relay.peak_memory() < 64 << 10,
        "{} KiB",
        relay.peak_memory()
    );
    // The relay closes what it holds by itself.
    for mut stream in held {
        let _ = stream.read_to_end(&mut Vec::new());
    }
    assert_eq!(monitor.get("/readyz").0, 200);
    drop(relay);
    flood.join().unwrap();
}

#[test]
fn a_taken_port_is_said() {
    let world = World::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let guest = ["--guest", "cid=5,socket=vm5,claim=default/a"];
    let output = world
        .command(&[&guest[..], &["--metrics-address", &address]].concat())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        error.contains(&format!(
            "--metrics-address {address}: the relay cannot listen there"
        )),
        "{error}"
    );
}

#[test]
fn a_log_of_json_has_one_object_a_line_with_the_same_fields() {
    let world = World::new();
    world.put_claim("a");
    let (mut relay, _) = world.monitored_relay(&["--log-format", "json"]);
    let mut guest = world.agent("vm5");
    guest.report(1, &[ready("a")]);
    relay.signal(Signal::TERM);
    assert_eq!(relay.wait().code(), Some(0));
    let lines: Vec<Json> = world
        .log()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let line = |message: &str| {
        let mut lines = lines.iter();
        lines
            .find(|line| line["message"] == message)
            .unwrap_or_else(|| panic!("{message} is not in {}", world.log()))
    };
    let written = line("status written");
    assert_eq!(
        (&written["cid"], &written["claim"]),
        (&5.into(), &"default/a".into())
    );
    assert_eq!(written["level"], "INFO");
    assert!(written["timestamp"].is_string());
    assert_eq!(line("the guest's agent says hello")["cid"], 5);
    line("SIGTERM: the relay ends");
}
