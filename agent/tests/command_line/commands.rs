//! The commands that end by themselves.

use std::fs;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::guest::{Guest, device, mac};
use crate::namespace::{in_namespace, ip, veth};

// dranet `pkg/driver/hostdevice.go` (case 111).
#[test]
fn apply_names_configures_and_reports_what_it_observed() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        guest.document(&json!([device(
            1,
            "net1",
            &["192.0.2.5/24", "2001:db8::5/64"]
        )]));
        guest.policy("[[device]]\nclaim = \"nic-*\"\nmtu = 1400\n");
        let said = guest.agent("apply");
        assert_eq!(said.code, 0, "{}", said.stderr);
        assert!(
            said.stdout.starts_with("1 of 1 devices ready\n"),
            "{}",
            said.stdout
        );

        let link = ip("-o link show net1");
        assert!(link.contains("mtu 1400") && link.contains(",UP"), "{link}");
        let addresses = ip("-o addr show net1");
        assert!(
            addresses.contains("192.0.2.5/24") && addresses.contains("2001:db8::5/64"),
            "{addresses}"
        );
        let status = guest.status().unwrap();
        let seen = &status["devices"][0];
        assert_eq!(status["ready"], true);
        assert_eq!(seen["reason"], "Configured");
        assert_eq!(seen["interfaceName"], "net1");
        assert_eq!(seen["macAddress"], mac(1));
        assert!(
            seen["addresses"]
                .as_array()
                .unwrap()
                .contains(&json!("192.0.2.5/24")),
            "{seen}"
        );
        let env = fs::read_to_string(guest.path("run/dra-guest/devices/nic-1.vf.env")).unwrap();
        assert!(env.contains("DRA_GUEST_INTERFACE=net1\n"), "{env}");
        let json = fs::read(guest.path("run/dra-guest/devices/nic-1.vf.json")).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&json).unwrap(), *seen);
        assert_eq!(guest.agent("check").code, 0);
        let said = guest.agent("status");
        assert!(
            said.stdout.contains("nic-1/vf (d1): Configured, net1"),
            "{}",
            said.stdout
        );
    });
}

#[test]
fn names_change_places() {
    in_namespace(|| {
        veth("net1", 1);
        veth("net2", 2);
        let guest = Guest::new();
        guest.document(&json!([device(1, "net2", &[]), device(2, "net1", &[])]));
        let said = guest.agent("apply");
        assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
        assert!(ip("link show net2").contains(&mac(1)));
        assert!(ip("link show net1").contains(&mac(2)));
    });
}

// cloud-init#4043 (case 3).
#[test]
fn a_missing_device_does_not_stop_the_others() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        guest.document(&json!([
            device(9, "net9", &[]),
            device(1, "net1", &["192.0.2.5/24"])
        ]));
        let said = guest.agent("apply");
        assert_eq!(said.code, 3, "{}", said.stderr);
        assert!(
            said.stdout.contains(
                "DeviceNotFound: no network interface has the MAC address 02:00:00:00:09:01"
            ),
            "{}",
            said.stdout
        );
        assert!(ip("-o addr show net1").contains("192.0.2.5/24"));
        let said = guest.agent("check");
        assert_eq!(said.code, 3);
        assert!(
            said.stderr.contains("nic-9/vf (d9): DeviceNotFound"),
            "{}",
            said.stderr
        );
        assert_eq!(guest.agent("plan").code, 3);
    });
}

// GoogleCloudPlatform/guest-agent#482 (case 22).
#[test]
fn a_broken_entry_does_not_stop_the_others() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        let mut broken = device(2, "net2", &[]);
        broken["network"]["macAddress"] = json!("02:00");
        guest.document(&json!([broken, device(1, "net1", &[])]));
        let said = guest.agent("apply");
        assert_eq!(said.code, 3, "{}", said.stderr);
        let status = guest.status().unwrap();
        let devices = status["devices"].as_array().unwrap();
        let invalid = devices
            .iter()
            .find(|device| device["reason"] == "InvalidAttributes")
            .unwrap();
        assert_eq!(invalid["identity"]["claim"]["name"], "nic-2");
        assert!(
            invalid["message"]
                .as_str()
                .unwrap()
                .contains("devices[0].network.macAddress"),
            "{invalid}"
        );
        assert!(ip("link show net1").contains(&mac(1)));
    });
}

// dranet@f8fa173, dranet@5f8645a (case 44).
#[test]
fn what_the_kernel_refuses_is_in_the_report_in_its_words() {
    in_namespace(|| {
        veth("eth0", 1);
        veth("eth1", 2);
        fs::write("/proc/sys/net/ipv6/conf/eth0/disable_ipv6", "1").unwrap();
        let guest = Guest::new();
        guest.document(&json!([
            device(1, "net1", &["2001:db8::5/64"]),
            device(2, "net2", &["2001:db8::6/64"])
        ]));
        let said = guest.agent("apply");
        assert_eq!(said.code, 3, "{}", said.stdout);
        assert!(
            said.stdout.contains("ConfigurationFailed") && said.stdout.contains("IPv6 is disabled"),
            "{}",
            said.stdout
        );
        assert!(ip("-o addr show net2").contains("2001:db8::6/64"));
    });
}

// GoogleCloudPlatform/guest-agent#610 (case 50); talos#13932 (case 113).
#[test]
fn a_second_apply_asks_the_kernel_for_no_change() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        guest.document(&json!([device(
            1,
            "net1",
            &["192.0.2.5/24", "2001:db8::5/64"]
        )]));
        assert_eq!(guest.agent("apply").code, 0);
        // One line each, without the link's state, which the kernel settles a moment later.
        let before = ip("-o addr show");

        let trace = guest.path("trace");
        let mut command = Command::new("strace");
        command
            .args(["-f", "-o", trace.to_str().unwrap()])
            .args([env!("CARGO_BIN_EXE_dra-guest-agent"), "apply"]);
        let output = guest
            .with_roots(command)
            .output()
            .expect("run strace, of the package strace");
        assert!(output.status.success());
        let trace = fs::read_to_string(trace).unwrap();
        for change in [
            "RTM_SETLINK",
            "RTM_NEWLINK, nlmsg_flags=NLM_F_REQUEST",
            "NLM_F_ACK",
        ] {
            assert!(!trace.contains(change), "{change} in a no-op apply");
        }
        assert!(trace.contains("RTM_GETLINK"), "strace saw nothing");
        assert_eq!(ip("-o addr show"), before);
    });
}

// amazon-ec2-net-utils@26a67ce, amazon-ec2-net-utils@65fbb03 (case 47).
#[test]
fn apply_waits_as_long_as_it_is_told() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        let mut command = Command::new(env!("CARGO_BIN_EXE_dra-guest-agent"));
        command.args(["apply", "--wait", "30"]);
        let mut waiting = guest.with_roots(command).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(500));
        assert!(waiting.try_wait().unwrap().is_none(), "it did not wait");
        guest.document(&json!([device(1, "net1", &[])]));
        assert_eq!(waiting.wait().unwrap().code(), Some(0));
        assert!(ip("link show net1").contains(&mac(1)));
        // And no longer.
        fs::remove_file(guest.path("run/kubevirt/device-attributes.json")).unwrap();
        let said = guest.agent("apply --wait 1");
        assert_eq!(said.code, 4, "{}", said.stderr);
    });
}

#[test]
fn an_inspected_state_is_a_planners_case() {
    in_namespace(|| {
        veth("eth0", 1);
        ip("addr add 192.0.2.9/24 dev eth0");
        let guest = Guest::new();
        let said = guest.agent("inspect --json");
        assert_eq!(said.code, 0, "{}", said.stderr);
        let observation: dra_guest_agent::observe::Observation =
            serde_json::from_str(&said.stdout).unwrap();
        let eth0 = observation
            .interfaces
            .iter()
            .find(|interface| interface.name == "eth0")
            .unwrap();
        assert_eq!(eth0.mac_address.unwrap().to_string(), mac(1));
        assert_eq!(eth0.kind.as_deref(), Some("veth"));
        let said = guest.agent("inspect");
        assert!(
            said.stdout
                .contains("eth0: down, MTU 1500, veth, MAC 02:00:00:00:01:01, 192.0.2.9/24"),
            "{}",
            said.stdout
        );
    });
}

#[test]
fn a_device_that_is_not_required_keeps_the_agent_from_nothing() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        guest.document(&json!([device(9, "net9", &[]), device(1, "net1", &[])]));
        guest.policy("[[device]]\nclaim = \"nic-9\"\nrequired = false\n");
        let said = guest.agent("apply");
        assert_eq!(said.code, 0, "{}", said.stderr);
        assert!(
            said.stdout.starts_with("1 of 2 devices ready\n"),
            "{}",
            said.stdout
        );
        assert_eq!(guest.agent("check").code, 0);
        guest.policy("[[device]]\nclaim = \"nic-1\"\nrequired = false\n");
        assert_eq!(guest.agent("apply").code, 3);
    });
}

#[test]
fn a_device_that_is_not_managed_is_found_and_left_as_it_is() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        guest.document(&json!([device(1, "net1", &["192.0.2.5/24"])]));
        guest.policy("[[device]]\nmanage = false\nmtu = 1400\n");
        let before = ip("addr show");
        let said = guest.agent("apply");
        assert_eq!(said.code, 0, "{}", said.stderr);
        assert!(
            said.stdout.contains("Configured, eth0 02:00:00:00:01:01")
                && said.stdout.contains("manage = false"),
            "{}",
            said.stdout
        );
        assert_eq!(ip("addr show"), before);
    });
}
