//! How a device's files are named, and what a shell reads in them.

use super::*;
use std::process::Command;
use tempfile::TempDir;

fn device(claim: &str, request: &str, device: &str) -> DeviceStatus {
    serde_json::from_value(serde_json::json!({
        "identity": {
            "claim": {"namespace": "default", "name": claim},
            "request": request, "driver": "sriov.example.com", "pool": "p", "device": device
        },
        "ready": true, "reason": "Configured", "message": "",
        "interfaceName": "net1", "macAddress": "02:00:00:00:00:01",
        "addresses": ["192.0.2.5/24", "2001:db8::5/64"],
        "guestPciAddress": "0000:81:00.0", "numaNode": 0
    }))
    .unwrap()
}

fn names(run: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(run.path().join("dra-guest/devices")).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn every_device_has_a_name_of_its_own_and_none_leads_elsewhere() {
    let mut of_template = device("vm-nic-x7k2p", "vf", "a");
    let claim = of_template.report.identity.claim.as_mut().unwrap();
    claim.pod_claim_name = Some("nic".parse().unwrap());
    let mut flat = device("x", "x", "x");
    flat.report.identity = DeviceIdentity::default();
    let devices = [
        of_template,
        device("..", "../../x", "a"),
        device("a.b", "c", "a"),
        device("a", "b.c", "a"),
        device("two", "vf", "d1"),
        device("two", "vf", "d2"),
        device("same", "vf", "d1"),
        device("same", "vf", "d1"),
        flat,
        device(&"c".repeat(253), "vf", "a"),
    ];
    let stems = stems(&devices);
    assert_eq!(
        stems[..9],
        [
            "nic.vf",
            "%2E%2E.%2E%2E%2F%2E%2E%2Fx",
            "a%2Eb.c",
            "a.b%2Ec",
            "two.vf.sriov%2Eexample%2Ecom.p.d1",
            "two.vf.sriov%2Eexample%2Ecom.p.d2",
            "same.vf.sriov%2Eexample%2Ecom.p.d1.1",
            "same.vf.sriov%2Eexample%2Ecom.p.d1.2",
            "-.-",
        ]
    );
    assert_eq!(stems[9].len(), STEM_BYTES + 17);
    assert_eq!(stems.iter().collect::<BTreeSet<_>>().len(), stems.len());
}

#[test]
fn files_of_devices_that_are_gone_go_and_the_others_stay() {
    let run = TempDir::new().unwrap();
    let roots = Roots {
        run: run.path().to_owned(),
        ..Roots::default()
    };
    write(&roots, &[device("a", "vf", "d"), device("b", "vf", "d")]).unwrap();
    assert_eq!(
        names(&run),
        ["a.vf.env", "a.vf.json", "b.vf.env", "b.vf.json"]
    );
    fs::write(run.path().join("dra-guest/devices/.b.vf.env.17"), "cut").unwrap();
    write(&roots, &[device("b", "vf", "d")]).unwrap();
    assert_eq!(names(&run), ["b.vf.env", "b.vf.json"]);
    let json = fs::read(run.path().join("dra-guest/devices/b.vf.json")).unwrap();
    let read: DeviceStatus = serde_json::from_slice(&json).unwrap();
    assert_eq!(read, device("b", "vf", "d"));
    write(&roots, &[]).unwrap();
    assert_eq!(names(&run), [""; 0]);
}

// amazon-ec2-net-utils#90 (case 23).
#[test]
fn what_is_not_known_is_absent() {
    let mut device = device("a", "vf", "d").report;
    device.interface_name = None;
    device.addresses.clear();
    device.numa_node = None;
    let text = env(&device, &Bounds::default());
    for key in ["INTERFACE", "ADDRESSES", "NUMA_NODE", "POD_CLAIM"] {
        assert!(!text.contains(key), "{text}");
    }
    assert!(
        text.contains("DRA_GUEST_MAC_ADDRESS=02:00:00:00:00:01\n"),
        "{text}"
    );
}

#[test]
fn a_shell_reads_the_values_as_they_are_and_runs_none() {
    let run = TempDir::new().unwrap();
    let file = run.path().join("env");
    for name in [
        "net1",
        "a'b",
        "$(touch${IFS}x)",
        "`id`",
        "\"x\"",
        "a\\",
        "größe",
        "#",
        "!!",
    ] {
        let mut device = device("a", "vf", "d").report;
        device.interface_name = Some(name.to_owned());
        fs::write(&file, env(&device, &Bounds::default())).unwrap();
        let script = ". ./env; printf '%s|%s|%s' \"$DRA_GUEST_INTERFACE\" \"$DRA_GUEST_ADDRESSES\" \
                      \"$DRA_GUEST_NUMA_NODE\"";
        let output = Command::new("sh")
            .args(["-euc", script])
            .current_dir(run.path())
            .output();
        let said = String::from_utf8(output.unwrap().stdout).unwrap();
        assert_eq!(said, format!("{name}|192.0.2.5/24 2001:db8::5/64|0"));
        assert!(!run.path().join("x").exists());
    }
    // No line can be forged.
    let mut device = device("a", "vf", "d").report;
    device.interface_name = Some("a\nDRA_GUEST_READY=false\u{1b}".to_owned());
    assert_eq!(
        env(&device, &Bounds::default())
            .matches("\nDRA_GUEST_READY=")
            .count(),
        1
    );
}
