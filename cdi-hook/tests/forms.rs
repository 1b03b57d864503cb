//! The forms that `--attributes` takes besides metadata: what becomes of them, and what is refused.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod container;

use std::fs;
use std::process::Command;

use container::Container;

#[test]
fn the_other_forms_are_refused_with_the_field_too() {
    let container = Container::with_vm_mount();
    let file = container.path("attributes.json");
    let name = file.to_str().unwrap();
    let document = |devices: &str| {
        format!(
            r#"{{"apiVersion": "dra-guest/v1", "kind": "DeviceAttributes", "devices": {devices}}}"#
        )
    };
    for (content, text) in [
        (
            document("{}"),
            ":1:71: devices: a list of devices is expected",
        ),
        (
            document("[7]"),
            ":1:72: devices[0]: invalid type: integer `7`, expected an object",
        ),
        (
            document(r#"[{"network": {"macAddress": "x"}}]"#),
            "devices[0].network.macAddress: \"x\" is not a MAC address",
        ),
        (
            document(r#"[{"host": {"numaNode": -1}}]"#),
            "devices[0].host.numaNode: NUMA node -1 means \"no affinity\": leave the key out",
        ),
        (
            r#"{"apiVersion": "dra-guest/v2", "kind": "DeviceAttributes", "devices": []}"#
                .to_owned(),
            "no known apiVersion: found dra-guest/v2, known are dra-guest/v1",
        ),
        (
            r#"{"devices": [{"type": "nic", "bus": "pci", "address": "x"}]}"#.to_owned(),
            "devices[0].address: \"x\" is not a PCI address",
        ),
        (
            r#"{"macAddress": "00:00:00:00:00:00"}"#.to_owned(),
            ":1:16: macAddress: the MAC address is all zero",
        ),
        (
            r#"{"numaNode": 1024}"#.to_owned(),
            "numaNode: 1024 is not a NUMA node",
        ),
        (
            r#"{"macAddress": null}"#.to_owned(),
            "nothing is known of the device",
        ),
    ] {
        fs::write(&file, content).unwrap();
        let outcome = container.run(&["--attributes", name]);
        outcome.assert_error(&format!("{name}:"));
        outcome.assert_error(text);
        assert_eq!(container.vm_files(), [""; 0]);
    }
}

#[test]
fn the_flat_form_of_blog_posts_works() {
    let flat =
        r#"{"pciAddress": "0000:3b:00.1", "macAddress": "52:54:00:ab:cd:ef", "numaNode": 0}"#;
    let container = Container::with_vm_mount();
    let file = container.path("flat.json");
    fs::write(&file, flat).unwrap();
    container
        .run(&["--attributes", file.to_str().unwrap()])
        .assert_success();
    let jq = Command::new("jq")
        .args(["-r", ".macAddress, .pciAddress, .numaNode"])
        .arg(container.path("vm/device-attributes.json"))
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8(jq.stdout).unwrap(),
        "52:54:00:ab:cd:ef\n0000:3b:00.1\n0\n"
    );
}

#[test]
fn a_document_comes_out_as_it_was_but_for_white_space() {
    let given = include_str!("forms/document.json");
    let container = Container::with_vm_mount();
    let file = container.path("document.json");
    fs::write(&file, given).unwrap();
    let options = ["--attributes", file.to_str().unwrap()];
    container.run(&options).assert_success();
    let written = container.document().unwrap();
    let packed = |text: &str| text.split_whitespace().collect::<String>();
    assert_eq!(packed(&written), packed(given));

    // Its own output is a fixed point.
    fs::write(&file, &written).unwrap();
    let outcome = container.run(&options);
    outcome.assert_success();
    assert!(
        outcome.stderr.contains("is already as it should be"),
        "{}",
        outcome.stderr
    );
    assert_eq!(container.document().unwrap(), written);
}

#[test]
fn the_order_of_the_input_leaves_no_trace() {
    let device = |name: &str, mac: &str| {
        format!(
            r#"{{"apiVersion": "dra-guest/v1", "kind": "DeviceAttributes", "devices": [{{"request": "r",
                "driver": "d", "pool": "p", "device": "{name}", "network": {{"macAddress": "{mac}"}}}}]}}"#
        )
    };
    let container = Container::with_vm_mount();
    let (one, other) = (container.path("one"), container.path("other"));
    fs::write(&one, device("vf-2", "02:00:00:00:00:01")).unwrap();
    fs::write(&other, device("vf-1", "02:00:00:00:00:02")).unwrap();
    let run = |files: [&std::path::Path; 2]| {
        let options = files.map(|file| ["--attributes", file.to_str().unwrap()]);
        container.run(options.as_flattened()).assert_success();
        container.document().unwrap()
    };
    let document = run([&one, &other]);
    assert_eq!(run([&other, &one]), document);
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["devices"][0]["device"], "vf-1");
    // What stands beside the devices is the only one's.
    assert_eq!(document.get("macAddress"), None);
    // The same device once more is not one more.
    run([&one, &one]);
    let document: serde_json::Value = serde_json::from_str(&container.document().unwrap()).unwrap();
    assert_eq!(document["devices"].as_array().unwrap().len(), 1);
    assert_eq!(document["macAddress"], "02:00:00:00:00:01");
}
