//! What the shipped programs are made of.
#![allow(clippy::unwrap_used, missing_docs)]

use std::fs;
use std::process::Command;

use dra_guest_tests::programs::static_program;

/// The most bytes of each: the hook is started for every container, the agent is in every image, and the relay
/// speaks TLS and HTTP/2 with an API server, answers scrapes over HTTP, and asks the API server who it is (doctor).
const BYTES: [(&str, u64); 4] = [
    ("dra-cdi-hook", 1_000_000),
    ("dra-guest-nri", 1_500_000),
    ("dra-guest-agent", 2_600_000),
    ("dra-guest-relay", 6_500_000),
];

#[test]
fn no_loader_and_no_library_has_a_say() {
    for (program, _) in BYTES {
        let output = Command::new("readelf")
            .args(["--wide", "--program-headers", "--dynamic"])
            .arg(static_program(program).unwrap())
            .env("LC_ALL", "C")
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("LOAD"), "{program}: {text}");
        for word in ["INTERP", "NEEDED", "RPATH", "RUNPATH"] {
            assert!(!text.contains(word), "{program}: {word}: {text}");
        }
    }
}

#[test]
fn they_are_small() {
    for (program, most) in BYTES {
        let bytes = fs::metadata(static_program(program).unwrap())
            .unwrap()
            .len();
        assert!(bytes <= most, "{program}: {bytes} bytes");
    }
}
