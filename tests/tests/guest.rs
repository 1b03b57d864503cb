//! The whole way with one Debian guest: what the demo shows, checked.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use dra_guest_tests::guest::{FOREIGN_MAC, NIC_NODE, NIC_PCI_ADDRESS};
use dra_guest_tests::suite::{self, Shared};
use dra_guest_tests::wait;
use dra_guest_tests::way::{
    Arrival, Claim, NIC_ADDRESSES, NIC_MAC, NIC_MTU, NIC_NAME, NicFacts, Progress, Walk,
};
use serde_json::Value;

/// An address that a driver adds while the guest runs.
const MORE: &str = "192.0.2.77/24";
/// Much more than anything takes, on a machine that does much else.
const PATIENCE: Duration = Duration::from_mins(1);

static ARRIVAL: Shared<Arrival> = Shared::new(|| Walk::new("guest")?.go(&mut Progress::silent()));

fn main() -> ExitCode {
    suite::run(
        &ARRIVAL,
        &[
            ("the_guest_boots_without_a_failed_unit", boots),
            ("the_claim_says_ready", claim_says_ready),
            ("the_rest_of_the_claim_is_untouched", rest_of_claim),
            ("the_nic_is_named_and_configured", nic_is_configured),
            ("a_nic_of_another_mac_is_untouched", foreign_nic),
            ("the_status_file_and_check_agree", status_and_check),
            ("the_vm_mount_is_read_only", vm_mount),
            ("the_names_are_there_before_the_network", before_network),
            ("a_second_apply_changes_nothing", second_apply),
            // dranet#89 (case 110).
            ("a_restarted_agent_changes_nothing", restart),
            ("the_unit_lets_a_policy_reach_the_kernel", policy),
            ("a_policy_is_in_force_after_a_reload", reload),
            ("what_the_agent_did_is_taken_back", revert),
            ("real_nics_are_given_the_documents_macs", set_macs),
            ("after_a_start_everything_is_as_it_was", start_again),
            ("systemd_finds_no_fault_with_the_units", units),
            // The last one: the VM mount is another one from then on.
            (
                "a_volume_of_the_kubelet_is_read_and_followed",
                volume_of_the_kubelet,
            ),
        ],
    )
}

fn boots(arrival: &mut Arrival) -> Result<()> {
    arrival.guest.expect_clean_boot(&arrival.guest_state)
}

fn claim_says_ready(arrival: &mut Arrival) -> Result<()> {
    let condition = arrival
        .claim_after
        .condition("dra-guest/Ready")
        .context("the claim has no condition dra-guest/Ready")?;
    ensure!(condition.status == "True", "{condition:?}");
    ensure!(condition.reason == "Configured", "{condition:?}");
    for observed in [NIC_NAME, NIC_MAC, NIC_PCI_ADDRESS, "NUMA node 1"] {
        ensure!(
            condition.message.contains(observed),
            "`{observed}` is not in the message: {}",
            condition.message
        );
    }
    Ok(())
}

/// Everything but our condition is what it was.
fn rest_of_claim(arrival: &mut Arrival) -> Result<()> {
    let mut after = arrival.claim_after.value.clone();
    let conditions = after
        .pointer_mut("/status/devices/0/conditions")
        .and_then(Value::as_array_mut)
        .context("the claim has no conditions")?;
    conditions.retain(|condition| condition["type"] != "dra-guest/Ready");
    ensure!(
        after == arrival.claim_before.value,
        "before: {}\nafter: {after}",
        arrival.claim_before.value
    );
    Ok(())
}

fn nic(nics: &[NicFacts], mac: &str) -> Result<NicFacts> {
    let nic = nics.iter().find(|nic| nic.mac == mac);
    nic.cloned()
        .with_context(|| format!("no NIC has the MAC address {mac}: {nics:?}"))
}

fn nic_is_configured(arrival: &mut Arrival) -> Result<()> {
    let found = nic(&arrival.nics, NIC_MAC)?;
    let expected = NicFacts {
        name: NIC_NAME.to_owned(),
        mac: NIC_MAC.to_owned(),
        mtu: NIC_MTU.into(),
        up: true,
        addresses: NIC_ADDRESSES.map(str::to_owned).to_vec(),
        pci_address: NIC_PCI_ADDRESS.to_owned(),
        numa_node: NIC_NODE.try_into()?,
        driver: "igb".to_owned(),
    };
    ensure!(found == expected, "{found:?}\nis not {expected:?}");
    Ok(())
}

fn foreign_nic(arrival: &mut Arrival) -> Result<()> {
    let found = nic(&arrival.nics, FOREIGN_MAC)?;
    ensure!(!found.up, "it was set up: {found:?}");
    ensure!(found.mtu == 1500, "its MTU was changed: {found:?}");
    ensure!(found.addresses.is_empty(), "it was addressed: {found:?}");
    ensure!(
        found.name.starts_with("enp"),
        "it lost the name that udev gave it: {found:?}"
    );
    Ok(())
}

fn status_and_check(arrival: &mut Arrival) -> Result<()> {
    let text = arrival.guest.stdout_of("cat /run/dra-guest/status.json")?;
    let status: Value = serde_json::from_str(&text)?;
    ensure!(status["ready"] == true, "{text}");
    let device = &status["devices"][0];
    ensure!(device["reason"] == "Configured", "{text}");
    ensure!(device["interfaceName"] == NIC_NAME, "{text}");
    ensure!(device["guestPciAddress"] == NIC_PCI_ADDRESS, "{text}");
    ensure!(device["numaNode"] == NIC_NODE, "{text}");
    let check = arrival.guest.run("dra-guest-agent check")?;
    ensure!(check.code == 0, "{check:?}");
    Ok(())
}

fn vm_mount(arrival: &mut Arrival) -> Result<()> {
    let mount = arrival
        .guest
        .stdout_of("findmnt --noheadings --output FSTYPE,OPTIONS /run/kubevirt")?;
    ensure!(mount.starts_with("virtiofs ro,"), "{mount}");
    let seen = arrival
        .guest
        .stdout_of("cat /var/run/kubevirt/device-attributes.json")?;
    ensure!(seen == arrival.document, "the guest reads: {seen}");
    Ok(())
}

/// The agent was ready before `network-pre.target` was reached, and it had applied then.
fn before_network(arrival: &mut Arrival) -> Result<()> {
    let mut monotonic = |unit: &str, property: &str| -> Result<u64> {
        let command = format!("systemctl show --value --property={property}Monotonic {unit}");
        Ok(arrival.guest.stdout_of(&command)?.trim().parse()?)
    };
    let agent = monotonic("dra-guest-agent.service", "ActiveEnterTimestamp")?;
    let network = monotonic("network-pre.target", "ActiveEnterTimestamp")?;
    ensure!(agent > 0, "the agent never became active");
    ensure!(
        agent < network,
        "network-pre.target was reached at {network} µs, the agent ready at {agent} µs"
    );
    let first = arrival.guest.stdout_of(
        "journalctl --boot --no-pager --output=cat --unit=dra-guest-agent.service | \
         sed -n '/Started dra-guest-agent/q; p'",
    )?;
    ensure!(
        first.contains("net1"),
        "nothing was applied before READY=1; the agent had said:\n{first}"
    );
    Ok(())
}

/// Runs a command in the guest and returns what the kernel announced of links and addresses
/// meanwhile. Not before IPv6 has made sure that nobody else has the addresses: it announces that.
fn announced_during(arrival: &mut Arrival, command: &str) -> Result<String> {
    wait::until(
        "no address is tentative any more",
        Duration::from_secs(30),
        || {
            let tentative = arrival.guest.stdout_of("ip -6 address show tentative")?;
            Ok(tentative.trim().is_empty().then_some(()))
        },
    )?;
    arrival.guest.stdout_of(&format!(
        "ip monitor link address >/run/announced & monitor=$!; sleep 1; \
         {command} >/run/said 2>&1 || {{ cat /run/said; exit 1; }}; \
         sleep 1; kill $monitor; cat /run/announced"
    ))
}

fn second_apply(arrival: &mut Arrival) -> Result<()> {
    let announced = announced_during(arrival, "dra-guest-agent apply")?;
    ensure!(
        announced.trim().is_empty(),
        "the kernel announced:\n{announced}"
    );
    // What the check can see: a real change is announced.
    let announced = announced_during(arrival, "ip address add 127.0.0.2/8 dev lo")?;
    ensure!(
        announced.contains("127.0.0.2"),
        "the monitor saw nothing of a change: {announced}"
    );
    Ok(())
}

fn restart(arrival: &mut Arrival) -> Result<()> {
    let process = "systemctl show --value --property=MainPID dra-guest-agent.service";
    let before = arrival.guest.stdout_of(process)?;
    let announced = announced_during(arrival, "systemctl restart dra-guest-agent.service")?;
    let after = arrival.guest.stdout_of(process)?;
    ensure!(before != after, "the process is the same: {after}");
    ensure!(
        announced.trim().is_empty(),
        "the kernel announced:\n{announced}"
    );
    let check = arrival.guest.run("dra-guest-agent check")?;
    ensure!(check.code == 0, "{check:?}");
    let nics = NicFacts::of_guest(&mut arrival.guest)?;
    ensure!(nics == arrival.nics, "{nics:?}\nwas {:?}", arrival.nics);
    arrival.relay.check()?;
    let claim = arrival.node.wait_for_report()?;
    let outcome = |claim: &Claim| {
        let condition = claim.condition("dra-guest/Ready")?;
        Some((condition.status.clone(), condition.reason.clone()))
    };
    ensure!(
        outcome(&claim) == outcome(&arrival.claim_after),
        "{}",
        claim.table()
    );
    Ok(())
}

/// A VLAN is on the NIC while its MTU shrinks, as it cannot be in a namespace of a machine without
/// 8021q.
fn policy(arrival: &mut Arrival) -> Result<()> {
    let guest = &mut arrival.guest;
    guest.stdout_of(&format!(
        "ip link add link {NIC_NAME} name vlan5 type vlan id 5 && ip link set vlan5 up && \
         mkdir -p /etc/dra-guest/agent.d && cat >/etc/dra-guest/agent.d/90-test.toml <<'END'\n\
         [[device]]\n\
         mtu = 1500\n\
         alternative-names = [\"storage-network-of-the-tenant\"]\n\
         rp-filter = \"loose\"\n\
         accept-ra = \"never\"\n\
         source-routing = true\n\
         routes = [{{to = \"203.0.113.0/24\", via = \"192.0.2.1\"}}]\n\
         END"
    ))?;
    guest.stdout_of("systemctl restart dra-guest-agent.service && dra-guest-agent check")?;
    for (command, part) in [
        ("cat /proc/sys/net/ipv4/conf/net1/rp_filter", "2"),
        ("cat /proc/sys/net/ipv6/conf/net1/accept_ra", "0"),
        ("ip link show storage-network-of-the-tenant", "mtu 1500"),
        ("ip link show vlan5", "mtu 1500"),
        (
            "ip route show",
            "203.0.113.0/24 via 192.0.2.1 dev net1 proto 218",
        ),
        ("ip rule show", "10739:"),
    ] {
        let shown = guest.stdout_of(command)?;
        ensure!(shown.contains(part), "{command}: {part} is not in\n{shown}");
    }
    guest.stdout_of(
        "ip link delete vlan5 && rm /etc/dra-guest/agent.d/90-test.toml && \
         systemctl restart dra-guest-agent.service && dra-guest-agent check",
    )?;
    let left = guest.stdout_of("ip rule show; ip route show table all")?;
    ensure!(!left.contains("proto 218"), "{left}");
    Ok(())
}

fn reload(arrival: &mut Arrival) -> Result<()> {
    arrival.guest.stdout_of(
        "mkdir -p /etc/dra-guest/agent.d && \
         printf '[[device]]\\nalternative-names = [\"storage\"]\\n' >/etc/dra-guest/agent.d/50-name.toml && \
         systemctl reload dra-guest-agent.service",
    )?;
    wait::until("the name", Duration::from_secs(30), || {
        let shown = arrival.guest.run("ip link show storage")?;
        Ok((shown.code == 0).then_some(()))
    })?;
    let env = arrival
        .guest
        .stdout_of(". /run/dra-guest/devices/*.env && echo $DRA_GUEST_INTERFACE")?;
    ensure!(env.trim() == NIC_NAME, "{env}");
    Ok(())
}

/// The service is stopped from here on.
fn revert(arrival: &mut Arrival) -> Result<()> {
    let refused = arrival.guest.run("dra-guest-agent revert")?;
    ensure!(refused.code == 1, "{refused:?}");
    let said = arrival
        .guest
        .stdout_of("systemctl stop dra-guest-agent.service && dra-guest-agent revert")?;
    let nics = NicFacts::of_guest(&mut arrival.guest)?;
    let found = nic(&nics, NIC_MAC)?;
    ensure!(
        found.name.starts_with("en") && found.mtu == 1500 && !found.up,
        "{found:?}\n{said}"
    );
    ensure!(found.addresses.is_empty(), "{found:?}\n{said}");
    let storage = arrival.guest.run("ip link show storage")?;
    ensure!(storage.code != 0, "{storage:?}");
    let check = arrival.guest.run("dra-guest-agent check")?;
    ensure!(check.code == 4, "{check:?}");
    Ok(())
}

/// An igb and a virtio NIC, each with the other's MAC by the document's word.
fn set_macs(arrival: &mut Arrival) -> Result<()> {
    let before = NicFacts::of_guest(&mut arrival.guest)?;
    let (igb, virtio) = (nic(&before, NIC_MAC)?, nic(&before, FOREIGN_MAC)?);
    let device = |name: &str, mac: &str, nic: &NicFacts| {
        serde_json::json!({
            "device": name, "guest": {"pciAddress": nic.pci_address},
            "network": {"interfaceName": name, "macAddress": mac}
        })
    };
    let document = serde_json::json!({
        "apiVersion": "dra-guest/v1", "kind": "DeviceAttributes",
        "devices": [device("given0", FOREIGN_MAC, &igb), device("given1", NIC_MAC, &virtio)]
    });
    let roots = "--attributes /run/given/document.json --run-root /run/given --etc-root /run/given";
    arrival.guest.stdout_of(&format!(
        "mkdir -p /run/given/dra-guest && echo '{document}' >/run/given/document.json && \
         ip link set {} up && ip link set {} up",
        igb.name, virtio.name
    ))?;
    let refused = arrival
        .guest
        .run(&format!("dra-guest-agent plan {roots}"))?;
    ensure!(
        refused.code == 3 && refused.stdout.contains("IdentityConflict"),
        "{refused:?}"
    );
    arrival.guest.stdout_of(&format!(
        "printf '[[device]]\\nset-mac = true\\n' >/run/given/dra-guest/agent.toml && \
         dra-guest-agent apply {roots}"
    ))?;
    let given = NicFacts::of_guest(&mut arrival.guest)?;
    for (name, mac, old) in [("given0", FOREIGN_MAC, &igb), ("given1", NIC_MAC, &virtio)] {
        let now = nic(&given, mac)?;
        ensure!(
            now.name == name && now.pci_address == old.pci_address,
            "{given:?}"
        );
    }
    let again = arrival
        .guest
        .stdout_of(&format!("dra-guest-agent plan {roots}"))?;
    ensure!(again.trim() == "nothing to change", "{again}");
    arrival.guest.stdout_of(&format!(
        "dra-guest-agent revert --run-root /run/given && ip link set {} down && ip link set {} down",
        igb.name, virtio.name
    ))?;
    let after = NicFacts::of_guest(&mut arrival.guest)?;
    ensure!(after == before, "{after:?}\nwas {before:?}");
    Ok(())
}

fn start_again(arrival: &mut Arrival) -> Result<()> {
    arrival.guest.stdout_of(
        "rm /etc/dra-guest/agent.d/50-name.toml && systemctl start dra-guest-agent.service",
    )?;
    let check = arrival.guest.run("dra-guest-agent check")?;
    ensure!(check.code == 0, "{check:?}");
    let nics = NicFacts::of_guest(&mut arrival.guest)?;
    ensure!(nics == arrival.nics, "{nics:?}\nwas {:?}", arrival.nics);
    Ok(())
}

fn units(arrival: &mut Arrival) -> Result<()> {
    let verify = arrival.guest.run(
        "systemd-analyze verify dra-guest-agent.service dra-guest-devices.service \
         run-kubevirt.mount",
    )?;
    ensure!(
        verify.code == 0 && verify.stderr.is_empty(),
        "{}{}",
        verify.stdout,
        verify.stderr
    );
    // 2.0 on systemd's scale of exposure from 0 to 10.
    let security = arrival
        .guest
        .run("systemd-analyze security --no-pager --threshold=20 dra-guest-agent.service")?;
    ensure!(security.code == 0, "{}", security.stdout);
    Ok(())
}

/// The file of a downwardAPI volume is a link into the directory of the moment, which the kubelet exchanges whole
/// (`pkg/volume/util/atomic_writer.go`). virtiofs shows the links as they are.
fn volume_of_the_kubelet(arrival: &mut Arrival) -> Result<()> {
    let volume = arrival.node.vm_mount();
    publish(&volume, "..2026_09_02_12_00_00.1", &arrival.document)?;
    let link = volume.join("link");
    symlink("..data/device-attributes.json", &link)?;
    fs::rename(&link, arrival.node.document_file())?;
    // The guest may have kept the file's entry for a second.
    let read = "readlink /run/kubevirt/device-attributes.json || true";
    wait::until("the guest sees the link", PATIENCE, || {
        let seen = arrival.guest.stdout_of(read)?;
        Ok((seen.trim() == "..data/device-attributes.json").then_some(()))
    })?;
    arrival
        .guest
        .stdout_of("systemctl restart dra-guest-agent.service")?;
    let check = arrival.guest.run("dra-guest-agent check")?;
    ensure!(check.code == 0, "{check:?}");

    let mut document: Value = serde_json::from_str(&arrival.document)?;
    let addresses = &mut document["devices"][0]["network"]["ipAddresses"];
    addresses.as_array_mut().unwrap().push(MORE.into());
    let before = fs::read_link(volume.join("..data"))?;
    publish(&volume, "..2026_09_02_12_05_00.2", &document.to_string())?;
    fs::remove_dir_all(volume.join(before))?;
    wait::until("the NIC has the address of the update", PATIENCE, || {
        let nics = NicFacts::of_guest(&mut arrival.guest)?;
        let nic = nic(&nics, NIC_MAC)?;
        Ok(nic.addresses.iter().any(|one| one == MORE).then_some(()))
    })?;
    wait::until("the claim says so", PATIENCE, || {
        let claim = arrival.node.wait_for_report()?;
        let condition = claim.condition("dra-guest/Ready");
        Ok(condition.and_then(|one| one.message.contains(MORE).then_some(())))
    })
}

/// Makes this the text of the moment.
fn publish(volume: &Path, moment: &str, text: &str) -> Result<()> {
    let directory = volume.join(moment);
    fs::create_dir(&directory)?;
    fs::write(directory.join("device-attributes.json"), text)?;
    let new = volume.join("..data_tmp");
    symlink(moment, &new)?;
    fs::rename(&new, volume.join("..data"))?;
    Ok(())
}
