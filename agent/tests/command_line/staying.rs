//! What the service does about changes that others make.

use std::process::Command;

use serde_json::{Value, json};

use crate::guest::{Guest, device, mac, wait_for};
use crate::namespace::{in_namespace, ip, veth};
use crate::service::{Service, is_ready};

fn shows(interface: &str, words: &[&str]) -> bool {
    let output = Command::new("ip")
        .args(["address", "show", "dev", interface])
        .output()
        .unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    words.iter().all(|word| shown.contains(word))
}

fn started(guest: &Guest, addresses: &[&str]) -> Service {
    guest.policy("[[device]]\nmtu = 1400\n");
    guest.document(&json!([device(1, "net1", addresses)]));
    let service = Service::start(guest);
    wait_for("the device to be ready", || is_ready(guest));
    service
}

fn first_device(guest: &Guest) -> Value {
    guest.status().unwrap()["devices"][0].clone()
}

// cloud-init LP#1766287, cloud-init LP#1983516, cloud-init#6184 (case 35).
#[test]
fn what_others_change_is_put_right_and_what_they_add_stays() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        let addresses = ["192.0.2.5/24", "2001:db8::5/64"];
        let service = started(&guest, &addresses);
        let wanted = ["mtu 1400", ",UP", addresses[0], addresses[1]];

        ip("link set net1 mtu 1300");
        ip("address add 198.51.100.1/24 dev net1");
        wait_for("the MTU", || shows("net1", &wanted));
        ip("address del 192.0.2.5/24 dev net1");
        ip("address del 2001:db8::5/64 dev net1");
        wait_for("the addresses", || shows("net1", &wanted));
        // Down throws the global IPv6 address away.
        ip("link set net1 down");
        wait_for("the interface to be up", || shows("net1", &wanted));
        ip("link set net1 name other");
        wait_for("the name", || shows("net1", &wanted));
        assert!(shows("net1", &["198.51.100.1/24"]), "{}", ip("address"));
        assert_eq!(service.end(), 0);
    });
}

/// As systemd-sysctl does when it is started again. The kernel announces nothing of it.
// netavark@9a73a52c, netavark@060f55dc (case 76).
#[test]
fn a_sysctl_that_others_set_is_put_right() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        guest.policy("[[device]]\nrp-filter = \"loose\"\naccept-ra = \"never\"\n");
        guest.document(&json!([device(1, "net1", &[])]));
        let service = Service::start(&guest);
        wait_for("the device to be ready", || is_ready(&guest));
        for (sysctl, others, own) in [
            ("ipv4/conf/net1/rp_filter", "1", "2"),
            ("ipv6/conf/net1/accept_ra", "2", "0"),
        ] {
            let path = format!("/proc/sys/net/{sysctl}");
            let value = || std::fs::read_to_string(&path).unwrap();
            assert_eq!(value().trim(), own);
            std::fs::write(&path, others).unwrap();
            wait_for(sysctl, || value().trim() == own);
        }
        assert_eq!(service.end(), 0);
    });
}

#[test]
fn an_interface_that_vanishes_and_comes_again_is_followed() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        let service = started(&guest, &["192.0.2.5/24"]);
        ip("link del net1");
        wait_for("the loss to be told", || {
            first_device(&guest)["reason"] == "DeviceNotFound"
        });
        veth("eth7", 1);
        wait_for("the new one", || is_ready(&guest));
        assert!(ip("link show net1").contains(&mac(1)));
        assert_eq!(service.end(), 0);
    });
}

#[test]
fn a_foe_that_never_rests_is_told_and_not_fought_without_end() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        let service = started(&guest, &["192.0.2.5/24"]);
        let told = || first_device(&guest)["message"].as_str().unwrap().to_owned();
        wait_for("the foe to be told", || {
            if shows("net1", &["mtu 1400"]) {
                ip("link set net1 mtu 1300");
            }
            told().contains("again and again")
        });
        let device = first_device(&guest);
        assert_eq!(device["reason"], "ConfigurationFailed", "{device}");
        assert!(
            told().contains("set the MTU of net1 from 1300 to 1400 (5 times)"),
            "{device}"
        );
        // The foe has gone: after its wait the device is put right.
        wait_for("the MTU", || shows("net1", &["mtu 1400"]));
        wait_for("the device to be ready", || is_ready(&guest));
        assert_eq!(service.end(), 0);
    });
}

// systemd#25813, systemd#29388, systemd#30345, systemd#36077 (case 49).
#[test]
fn managers_are_told_which_interfaces_are_ours_and_revert_takes_it_back() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        guest.policy("[[device]]\nrequest = \"vf\"\n");
        let mut left = device(2, "net2", &[]);
        left["request"] = json!("left");
        guest.policy("[[device]]\nrequest = \"left\"\ncoexist = \"leave\"\n");
        guest.document(&json!([
            device(1, "net1", &[]),
            left,
            device(3, "net3", &[])
        ]));
        assert_eq!(guest.agent("apply").code, 3);
        let read = |path: &str| std::fs::read_to_string(guest.path(path)).unwrap();
        // A veth has no permanent MAC address; that of an interface that is not there yet is taken for
        // one.
        let expected = |key: &str, number, more: &str| {
            format!(
                "# Written by dra-guest-agent, which configures these interfaces itself.\n\
                 [Match]\n{key}={}\n{more}\n[Link]\nUnmanaged=yes\n",
                mac(number)
            )
        };
        assert_eq!(
            read("run/systemd/network/00-dra-guest-current.network"),
            expected("MACAddress", 1, "Kind=!*\n")
        );
        assert_eq!(
            read("run/systemd/network/00-dra-guest.network"),
            expected("PermanentMACAddress", 3, "")
        );
        assert!(
            read("run/systemd/network/00-dra-guest-020000000301.link").contains("\nName=net3\n")
        );
        let conf = read("run/NetworkManager/conf.d/90-dra-guest.conf");
        let list = format!("mac:{};mac:{}", mac(1), mac(3));
        assert!(
            conf.contains(&format!("unmanaged-devices+={list}\n")),
            "{conf}"
        );

        // One that somebody has changed is not ours any more.
        let changed = "run/systemd/network/00-dra-guest-020000000301.link";
        std::fs::write(guest.path(changed), "[Match]\n").unwrap();
        let reverted = guest.agent("revert");
        assert_eq!(reverted.code, 3, "{}", reverted.stderr);
        let left: Vec<_> = std::fs::read_dir(guest.path("run/systemd/network"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(left, ["00-dra-guest-020000000301.link"]);
        assert!(
            !guest
                .path("run/NetworkManager/conf.d/90-dra-guest.conf")
                .exists()
        );
    });
}

// amazon-ec2-net-utils#146 (case 71); amazon-vpc-cni-k8s#3524 (case 75).
#[test]
fn a_manager_that_is_about_to_start_is_told_by_its_configuration() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        guest.policy("[[device]]\ncoexist = \"leave\"\n");
        guest.document(&json!([device(1, "net1", &[])]));
        let put = |path: &str, text: &str| {
            let path = guest.path(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let message = || {
            guest.agent("apply");
            first_device(&guest)["message"].as_str().unwrap().to_owned()
        };
        // Not enabled: its files mean nothing.
        put("etc/systemd/network/20-b.network", "[Match]\nName=eth*\n");
        let unit = "etc/systemd/system/multi-user.target.wants/systemd-networkd.service";
        put(unit, "");
        let file = guest.path("etc/systemd/network/20-b.network");
        assert_eq!(
            message(),
            format!(
                "not as wanted, to do would be: rename eth0 to net1, set net1 up; left to \
                 systemd-networkd ({}), as the policy says",
                file.display()
            )
        );
        assert!(!guest.path("run/systemd/network").exists());
        // An earlier file that leaves it, one that fits something else, and one that cloud-init wrote.
        put(
            "run/systemd/network/10-a.network",
            "[Match]\nKind=vlan\n[Network]\nDHCP=yes\n",
        );
        put(
            "etc/systemd/network/15-cloud-init-x.network",
            "[Match]\nMACAddress=02:00:00:00:01:01\n",
        );
        assert!(message().contains("15-cloud-init-x.network, by cloud-init)"));
        put(
            "run/systemd/network/10-netplan-x.network",
            "[Match]\nMACAddress=02:00:00:00:01:01\n",
        );
        assert!(message().contains("10-netplan-x.network, by netplan)"));
        // NetworkManager wants every interface until it has said otherwise.
        put(
            "etc/systemd/system/multi-user.target.wants/NetworkManager.service",
            "",
        );
        let wanted = message();
        assert!(
            wanted.contains("by netplan), NetworkManager, as"),
            "{wanted}"
        );
        let enabled = "etc/systemd/system/multi-user.target.wants/NetworkManager.service";
        std::fs::remove_file(guest.path(enabled)).unwrap();
        std::fs::remove_file(guest.path("run/systemd/network/10-netplan-x.network")).unwrap();
        put(
            "run/systemd/network/11-c.network",
            "[Match]\nName=!lo\n[Link]\nUnmanaged=yes\n",
        );
        assert_eq!(message(), "");
        assert!(shows("net1", &[",UP"]));
        // interfaces(5) is told by the name that the interface has or is to have.
        put("etc/network/interfaces", "source interfaces.d/*\n");
        put("etc/network/interfaces.d/a", "allow-hotplug /net*=x\n");
        assert!(message().contains("left to ifupdown ("));
    });
}

/// Reloading costs leases and connections: with nothing changed it must not be.
// amazon-ec2-net-utils#107, amazon-linux-2023#1127 (case 74).
#[test]
fn a_manager_is_told_when_a_file_changed_and_not_again() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        let links = guest.path("run/systemd/netif/links");
        std::fs::create_dir_all(&links).unwrap();
        std::fs::write(guest.path("run/systemd/netif/state"), "").unwrap();
        let index = std::fs::read_to_string("/sys/class/net/eth0/ifindex").unwrap();
        std::fs::write(links.join(index.trim()), "ADMIN_STATE=unmanaged\n").unwrap();
        let told = || {
            let trace = guest.path("trace");
            let mut command = Command::new("strace");
            command.args(["-f", "-e", "trace=execve", "-o"]).arg(&trace);
            command
                .arg(env!("CARGO_BIN_EXE_dra-guest-agent"))
                .arg("apply");
            let output = guest.with_roots(command).output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{output:?}");
            let trace = std::fs::read_to_string(trace).unwrap();
            trace.matches("execve(\"/usr/bin/networkctl\"").count()
        };
        guest.document(&json!([device(1, "net1", &["192.0.2.5/24"])]));
        assert_eq!((told(), told()), (1, 0));
        // Neither an address nor a name is a matter of the manager's files.
        guest.document(&json!([device(1, "net2", &["192.0.2.6/24"])]));
        assert_eq!(told(), 0);
        guest.policy("[[device]]\ncoexist = \"leave\"\n");
        assert_eq!((told(), told()), (1, 0));
    });
}
