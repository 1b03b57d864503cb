//! The whole way with one Debian guest: what the demo shows, checked.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod policy;
mod volume;

use std::process::ExitCode;

use anyhow::{Context as _, Result, ensure};
use dra_guest_tests::guest::{FOREIGN_MAC, NIC_NODE, NIC_PCI_ADDRESS};
use dra_guest_tests::suite::{self, Shared};
use dra_guest_tests::wait;
use dra_guest_tests::way::{
    Arrival, Claim, NIC_ADDRESSES, NIC_MAC, NIC_MTU, NIC_NAME, NicFacts, Progress, Walk,
};
use serde_json::Value;

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
            // netavark@9a73a52c, netavark@060f55dc (case 76).
            ("the_names_are_there_before_the_network", before_network),
            ("a_second_apply_changes_nothing", second_apply),
            // dranet#89 (case 110).
            ("a_restarted_agent_changes_nothing", restart),
            (
                "the_unit_lets_a_policy_reach_the_kernel",
                policy::reaches_the_kernel,
            ),
            ("a_policy_is_in_force_after_a_reload", policy::reload),
            ("what_the_agent_did_is_taken_back", policy::revert),
            ("real_nics_are_given_the_documents_macs", policy::set_macs),
            ("after_a_start_everything_is_as_it_was", policy::start_again),
            ("systemd_finds_no_fault_with_the_units", units),
            // The last one: the VM mount is another one from then on.
            // kata-containers/runtime#1505, kata-containers#1879, vfkit#126 (case 87).
            (
                "a_volume_of_the_kubelet_is_read_and_followed",
                volume::of_the_kubelet,
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
    let begun = monotonic("dra-guest-agent.service", "ExecMainStartTimestamp")?;
    let sysctl = monotonic("systemd-sysctl.service", "ActiveEnterTimestamp")?;
    ensure!(
        0 < sysctl && sysctl < begun,
        "systemd-sysctl had ended at {sysctl} µs, the agent begun at {begun} µs"
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
    wait::until("no address is tentative any more", wait::PATIENCE, || {
        let tentative = arrival.guest.stdout_of("ip -6 address show tentative")?;
        Ok(tentative.trim().is_empty().then_some(()))
    })?;
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

fn units(arrival: &mut Arrival) -> Result<()> {
    let verify = arrival.guest.run(
        "systemd-analyze verify --man=no dra-guest-agent.service dra-guest-devices.service \
         run-kubevirt.mount",
    )?;
    ensure!(
        verify.code == 0 && verify.stderr.is_empty(),
        "{}{}",
        verify.stdout,
        verify.stderr
    );
    // 2.6 on systemd's scale of exposure from 0 to 10.
    let security = arrival
        .guest
        .run("systemd-analyze security --no-pager --threshold=26 dra-guest-agent.service")?;
    ensure!(security.code == 0, "{}", security.stdout);
    Ok(())
}
