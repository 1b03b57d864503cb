//! A Debian guest where systemd-networkd, cloud-init, `.link` files and udev rules want the NICs that
//! the attributes name, and where NICs come and go.
#![allow(clippy::indexing_slicing, missing_docs)]

mod owners;
mod stacked;

use std::process::ExitCode;

use anyhow::{Context as _, Result, ensure};
use dra_guest_tests::guest::{FOREIGN_MAC, LEFT_MAC, Machine, Managed, ManagedOptions, Manager};
use dra_guest_tests::suite::{self, Shared};
use dra_guest_tests::wait;
use dra_guest_tests::way::NIC_MAC;
use serde_json::json;

const E1000E_MAC: &str = "02:00:00:00:0e:01";
const VIRTIO_MAC: &str = "02:00:00:00:0e:02";
const HOT_MAC: &str = "02:00:00:00:0e:03";
/// Where the guest sees the first virtual function of the igb at 81:00.0: the offset is 128.
const VF_ADDRESS: &str = "0000:81:10.0";

const POLICY: &str = r#"
[[device]]
mtu = 9000

[[device]]
request = "igb"
source-routing = true
routes = [{to = "198.18.7.0/24", via = "192.0.2.1"}]

[[device]]
request = "virtio"
mtu = 1480

[[device]]
request = "late"
required = false
mtu = 1450

[[device]]
request = "left"
coexist = "leave"
required = false
"#;

static BOOTED: Shared<Managed> = Shared::new(|| {
    let nic = |request: &str, name: &str, mac: &str, address: &str| {
        json!({
            "device": request, "request": request,
            "network": {"interfaceName": name, "macAddress": mac, "ipAddresses": [address]}
        })
    };
    Managed::boot(&ManagedOptions {
        machine: Machine::TwoNodes,
        kernel_options: "",
        name: "guest_networkd",
        managers: &[Manager::Networkd, Manager::CloudInit],
        policy: POLICY,
        devices: json!([
            nic("igb", "net1", NIC_MAC, "192.0.2.5/24"),
            nic("e1000e", "net2", E1000E_MAC, "192.0.2.6/24"),
            nic("virtio", "net3", VIRTIO_MAC, "2001:db8::7/64"),
            nic("left", "net4", LEFT_MAC, "192.0.2.10/24"),
            {
                "device": "hot", "request": "late",
                "network": {"interfaceName": "hot1", "macAddress": HOT_MAC, "ipAddresses": ["192.0.2.8/24"]}
            },
            {
                "device": "igbvf", "request": "late", "guest": {"pciAddress": VF_ADDRESS},
                "network": {"interfaceName": "vf1", "ipAddresses": ["192.0.2.9/24"]}
            }
        ]),
        hardware: &format!(
            "-netdev hubport,id=n2,hubid=3 -device e1000e,bus=pcie.0,netdev=n2,mac={E1000E_MAC} \
             -netdev hubport,id=n3,hubid=4 \
             -device virtio-net-pci,bus=pcie.0,netdev=n3,mac={VIRTIO_MAC} \
             -device pcie-root-port,id=hot-port,bus=pcie.0,chassis=9,slot=9 \
             -netdev hubport,id=n4,hubid=5 \
             -netdev hubport,id=n5,hubid=6 \
             -device virtio-net-pci,bus=pcie.0,netdev=n5,mac={LEFT_MAC}"
        ),
        additions: &[
            // Would keep the boot waiting for DHCP that nobody answers, two minutes.
            (
                "etc/systemd/network/05-all.network",
                "[Match]\nType=ether\n\n[Network]\nDHCP=yes\n\n[Link]\nMTUBytes=1400\n".to_owned(),
            ),
            (
                "etc/systemd/network/01-foreign.network",
                format!(
                    "[Match]\nMACAddress={FOREIGN_MAC}\n\n[Network]\nAddress=198.51.100.9/24\n"
                ),
            ),
            (
                "etc/systemd/network/02-left.network",
                format!("[Match]\nMACAddress={LEFT_MAC}\n\n[Network]\nAddress=198.51.100.10/24\n"),
            ),
            (
                "etc/systemd/network/10-other.link",
                format!(
                    "[Match]\nPermanentMACAddress={NIC_MAC} {HOT_MAC}\n\n[Link]\nName=other0\nMTUBytes=1300\n"
                ),
            ),
            (
                "etc/udev/rules.d/75-other.rules",
                format!(
                    "SUBSYSTEM==\"net\", ACTION==\"add\", ATTR{{address}}==\"{VIRTIO_MAC}\", NAME=\"other1\"\n"
                ),
            ),
            (
                "var/lib/cloud/seed/nocloud/meta-data",
                "instance-id: i-1\n".to_owned(),
            ),
            (
                "var/lib/cloud/seed/nocloud/user-data",
                "#cloud-config\n{}\n".to_owned(),
            ),
            (
                "var/lib/cloud/seed/nocloud/network-config",
                format!(
                    "version: 2\nethernets:\n  cloud0:\n    match: {{macaddress: \"{E1000E_MAC}\"}}\n    \
                     set-name: cloud0\n    dhcp4: true\n    mtu: 1350\n"
                ),
            ),
            (
                "etc/cloud/cloud.cfg.d/99-test.cfg",
                "datasource_list: [NoCloud]\nsystem_info: {network: {renderers: [networkd]}}\n\
                 cloud_init_modules: []\ncloud_config_modules: []\ncloud_final_modules: []\n"
                    .to_owned(),
            ),
        ],
    })
});

fn main() -> ExitCode {
    suite::run(
        &BOOTED,
        &[
            // systemd#25813, systemd#29388, systemd#30345, systemd#36077 (case 49).
            ("the_boot_is_clean_and_the_network_online", |booted| {
                booted.expect_online()
            }),
            ("the_managers_were_at_work", managers_at_work),
            // amazon-ec2-net-utils#146 (case 71).
            ("the_nics_stay_as_the_attributes_say", nics_stay),
            // amazon-vpc-cni-k8s#3524 (case 75).
            ("networkd_leaves_the_nics", networkd_leaves),
            // cloud-init LP#1766287, cloud-init LP#1983516, cloud-init#6184 (case 35).
            ("the_cold_boots_events_again_change_no_name", events_again),
            (
                "a_hot_plugged_nic_is_configured_and_its_removal_seen",
                hot_plug,
            ),
            (
                "a_virtual_function_that_comes_late_is_configured",
                virtual_function,
            ),
            ("networkd_leaves_the_routing", routing_stays),
            ("a_vlan_is_not_taken_for_its_nic", stacked::vlan),
            ("a_bonds_ports_are_known_by_their_own_macs", stacked::bond),
            (
                "a_vrfs_members_have_their_routes_in_its_table",
                stacked::vrf,
            ),
            // amazon-vpc-cni-k8s#3524 (case 75).
            ("a_nic_that_the_policy_leaves_is_left", owners::left),
            ("no_manager_had_to_be_fought", nothing_damped),
            // amazon-ec2-net-utils#146 (case 71).
            ("an_earlier_file_is_told", owners::earlier_file),
        ],
    )
}

fn managers_at_work(booted: &mut Managed) -> Result<()> {
    // The foreign NIC is networkd's, and cloud-init has rendered its file.
    let foreign = booted.guest.stdout_of("ip -br address")?;
    ensure!(foreign.contains("198.51.100.9/24"), "{foreign}");
    let files = booted.guest.stdout_of("ls /etc/systemd/network")?;
    ensure!(files.contains("10-cloud-init-cloud0.network"), "{files}");
    Ok(())
}

fn nics_stay(booted: &mut Managed) -> Result<()> {
    booted.let_managers_settle()?;
    booted.expect_shown("net1", &["mtu 9000", NIC_MAC, "192.0.2.5/24"])?;
    booted.expect_shown("net2", &["mtu 9000", E1000E_MAC, "192.0.2.6/24"])?;
    booted.expect_shown("net3", &["mtu 1480", VIRTIO_MAC, "2001:db8::7/64"])?;
    for device in ["igb", "e1000e", "virtio"] {
        let report = booted.device(device)?;
        ensure!(report["reason"] == "Configured", "{report}");
        ensure!(report["message"] == "", "{report}");
    }
    Ok(())
}

fn networkd_leaves(booted: &mut Managed) -> Result<()> {
    let list = booted
        .guest
        .stdout_of("networkctl list --no-legend --no-pager")?;
    for name in ["net1", "net2", "net3"] {
        let line = list
            .lines()
            .find(|line| line.contains(name))
            .unwrap_or_default();
        ensure!(line.contains("unmanaged"), "{name} in:\n{list}");
    }
    Ok(())
}

/// What an update of udev does. The rule renames net3, which the agent puts right.
fn events_again(booted: &mut Managed) -> Result<()> {
    booted
        .guest
        .stdout_of("udevadm trigger --action=add --subsystem-match=net && udevadm settle")?;
    wait::until("net3 is back", wait::PATIENCE, || {
        let shown = booted.guest.run("ip link show net3")?;
        Ok((shown.code == 0).then_some(()))
    })?;
    for name in ["net1", "net2"] {
        booted.expect_shown(name, &["mtu 9000"])?;
    }
    Ok(())
}

fn hot_plug(booted: &mut Managed) -> Result<()> {
    let before = booted.device("hot")?;
    ensure!(before["reason"] == "DeviceNotFound", "{before}");
    booted
        .guest
        .tell_qemu(&json!({"execute": "device_add", "arguments": {
            "driver": "e1000e", "id": "hot", "bus": "hot-port", "netdev": "n4", "mac": HOT_MAC
        }}))?;
    booted.wait_for("hot", "Configured")?;
    booted.expect_shown("hot1", &["mtu 1450", HOT_MAC, "192.0.2.8/24"])?;
    booted
        .guest
        .tell_qemu(&json!({"execute": "device_del", "arguments": {"id": "hot"}}))?;
    booted.wait_for("hot", "DeviceNotFound").map(|_| ())
}

fn virtual_function(booted: &mut Managed) -> Result<()> {
    booted
        .guest
        .stdout_of("echo 1 >/sys/bus/pci/devices/0000:81:00.0/sriov_numvfs")?;
    let report = booted.wait_for("igbvf", "Configured")?;
    ensure!(report["guestPciAddress"] == VF_ADDRESS, "{report}");
    // networkd has its attention first, since the MAC address was not known before, and lets go.
    let mut seen = String::new();
    let settled = wait::until("vf1 is ours", wait::PATIENCE, || {
        seen = booted.guest.stdout_of(
            "ip address show dev vf1; networkctl list --no-legend --no-pager vf1; \
             grep -H . /run/systemd/network/00-dra-guest*.network",
        )?;
        let wanted = ["mtu 1450", "192.0.2.9/24", "unmanaged"];
        Ok(wanted.iter().all(|word| seen.contains(word)).then_some(()))
    });
    let journal = "journalctl --boot --no-pager --output=short-monotonic --lines=40 \
                   --unit=dra-guest-agent.service --unit=systemd-networkd.service";
    settled
        .with_context(|| seen.clone())
        .with_context(|| booted.guest.stdout_of(journal).unwrap_or_default())
}

/// When it starts, and when it configures an interface, it would take away what it did not make.
fn routing_stays(booted: &mut Managed) -> Result<()> {
    let started =
        "systemctl show --property=ActiveEnterTimestampMonotonic systemd-networkd.service";
    let before = booted.guest.stdout_of(started)?;
    let foreign = format!("grep -l {FOREIGN_MAC} /sys/class/net/*/address | cut -d/ -f5");
    booted.guest.stdout_of(&format!(
        "ip monitor rule route >/run/changes 2>&1 & echo $! >/run/monitor; \
         systemctl restart systemd-networkd.service && networkctl reconfigure $({foreign})"
    ))?;
    booted.let_managers_settle()?;
    let changes = booted
        .guest
        .stdout_of("kill $(cat /run/monitor); cat /run/changes")?;
    // A networkd that starts looks at every rule and route, and takes away what it does not know.
    ensure!(booted.guest.stdout_of(started)? != before, "{before}");
    ensure!(!changes.contains("from 192.0.2.5"), "{changes}");
    ensure!(!changes.contains("proto 218"), "{changes}");
    let rules = booted.guest.stdout_of("ip rule")?;
    ensure!(rules.contains("from 192.0.2.5"), "{rules}");
    Ok(())
}

fn nothing_damped(booted: &mut Managed) -> Result<()> {
    let journal = booted
        .guest
        .stdout_of("journalctl --boot --no-pager --output=cat --unit=dra-guest-agent.service")?;
    ensure!(!journal.contains("again and again"), "{journal}");
    Ok(())
}
